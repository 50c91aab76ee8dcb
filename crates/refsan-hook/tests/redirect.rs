//! Redirects real calls of this process.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use refsan_hook::image;
use refsan_hook::patch::SlotWriter;
use refsan_hook::slots::{self, SlotKind};
use refsan_hook::symbols;
use refsan_hook::thunk::{Arena, Gate, Way};
use refsan_hook::trampoline::{Frame, Site, on_forced_unwind};

fn counter() -> &'static mut u64 {
    Box::leak(Box::new(0))
}

/// A sealed thunk that leads to `target`.
fn thunk(gate: Gate, way: Way, counter: *mut u64, site: Site) -> usize {
    let site = Box::leak(Box::new(site));
    let mut arena = Arena::new(1).unwrap();
    // SAFETY: counter and site are leaked.
    let thunk = unsafe { arena.add(gate, way, counter, site) }.unwrap();
    arena.seal().unwrap();
    thunk
}

unsafe extern "C" fn nothing(_: &Site, _: &mut Frame) {}

extern "C" fn many(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, x: f64, y: f64) -> u64 {
    assert_eq!((a, b, c, d, e, f, g), (1, 2, 3, 4, 5, 6, 7));
    assert_eq!((x, y), (1.5, 2.5));
    42
}

static SEEN: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" fn see(_: &Site, frame: &mut Frame) {
    SEEN.fetch_add(frame.rdi * 100 + frame.rsi, Ordering::Relaxed);
    // Whatever the hook does with registers must not reach the function.
    std::hint::black_box([1.0_f64; 16].iter().sum::<f64>());
}

type Many = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, f64, f64) -> u64;

fn call(thunk: usize) -> u64 {
    // SAFETY: the thunk leads to `many`.
    let function = unsafe { std::mem::transmute::<usize, Many>(thunk) };
    function(1, 2, 3, 4, 5, 6, 7, 1.5, 2.5)
}

#[test]
fn a_closed_gate_runs_the_hook_and_then_the_function_with_every_argument() {
    let counter = std::ptr::from_mut(counter());
    let site = Site {
        target: many as *const () as usize,
        before: see,
        after: nothing,
    };
    let thunk = thunk(Gate::Closed, Way::Before, counter, site);
    let before = SEEN.load(Ordering::Relaxed);
    assert_eq!(call(thunk), 42);
    assert_eq!(call(thunk), 42);
    assert_eq!(SEEN.load(Ordering::Relaxed) - before, 2 * 102);
    // SAFETY: leaked, and nobody else uses it.
    assert_eq!(unsafe { *counter }, 2);
}

#[test]
fn an_open_gate_passes_the_call_and_counts_it() {
    unsafe extern "C" fn never(_: &Site, _: &mut Frame) {
        std::process::abort();
    }
    // The thread pointer's first word is its own address: not zero.
    let counter = std::ptr::from_mut(counter());
    let site = Site {
        target: many as *const () as usize,
        before: never,
        after: never,
    };
    let by_thread = thunk(Gate::ThreadWord { offset: 0 }, Way::Before, counter, site);
    assert_eq!(call(by_thread), 42);
    // The word leads to a structure whose field is this thread's `pthread_self()`.
    // SAFETY: always succeeds.
    let owner: &'static [u64; 2] = Box::leak(Box::new([0, unsafe { libc::pthread_self() }]));
    let word: &'static usize = Box::leak(Box::new(owner.as_ptr() as usize));
    let site = Site {
        target: many as *const () as usize,
        before: never,
        after: never,
    };
    let gate = Gate::Owner {
        word: std::ptr::from_ref(word) as usize,
        field: 8,
    };
    let by_owner = thunk(gate, Way::Before, counter, site);
    assert_eq!(call(by_owner), 42);
    // SAFETY: leaked, and nobody else uses it.
    assert_eq!(unsafe { *counter }, 2);
}

#[test]
fn the_owner_gate_is_closed_for_null_and_for_other_threads() {
    static HOOKED: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn count(_: &Site, _: &mut Frame) {
        HOOKED.fetch_add(1, Ordering::Relaxed);
    }
    let site = || Site {
        target: many as *const () as usize,
        before: count,
        after: nothing,
    };
    let counter = std::ptr::from_mut(counter());
    let null: &'static usize = Box::leak(Box::new(0));
    let gate = Gate::Owner {
        word: std::ptr::from_ref(null) as usize,
        field: 8,
    };
    assert_eq!(call(thunk(gate, Way::Before, counter, site())), 42);
    let other: &'static [u64; 2] = Box::leak(Box::new([0, 1]));
    let word: &'static usize = Box::leak(Box::new(other.as_ptr() as usize));
    let gate = Gate::Owner {
        word: std::ptr::from_ref(word) as usize,
        field: 8,
    };
    assert_eq!(call(thunk(gate, Way::Before, counter, site())), 42);
    assert_eq!(HOOKED.load(Ordering::Relaxed), 2);
}

#[test]
fn around_sees_the_result() {
    static RESULT: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn after(_: &Site, frame: &mut Frame) {
        RESULT.store(frame.rax, Ordering::Relaxed);
    }
    extern "C" fn add(a: u64, b: u64) -> u64 {
        a + b
    }
    let counter = std::ptr::from_mut(counter());
    let site = Site {
        target: add as *const () as usize,
        before: nothing,
        after,
    };
    let thunk = thunk(Gate::Closed, Way::Around, counter, site);
    // SAFETY: the thunk leads to `add`.
    let function = unsafe { std::mem::transmute::<usize, extern "C" fn(u64, u64) -> u64>(thunk) };
    assert_eq!(function(20, 3), 23);
    assert_eq!(RESULT.load(Ordering::Relaxed), 23);
}

#[test]
fn a_thread_that_is_ended_inside_is_noticed_and_still_ends() {
    static ENDED: AtomicU64 = AtomicU64::new(0);
    extern "C" fn ended() {
        ENDED.fetch_add(1, Ordering::Relaxed);
    }
    extern "C" fn start(function: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the thunk leads to `pthread_exit`.
        let exit = unsafe {
            std::mem::transmute::<usize, unsafe extern "C-unwind" fn(*mut libc::c_void)>(
                function as usize,
            )
        };
        // SAFETY: the only frame of Rust that is unwound is this one, and it has no destructors.
        unsafe { exit(7 as *mut libc::c_void) };
        std::ptr::null_mut()
    }
    on_forced_unwind(ended);
    let counter = std::ptr::from_mut(counter());
    let site = Site {
        target: libc::pthread_exit as *const () as usize,
        before: nothing,
        after: nothing,
    };
    let thunk = thunk(Gate::Closed, Way::Around, counter, site);
    let mut thread = 0;
    let mut result = std::ptr::null_mut();
    // SAFETY: an ordinary thread, joined below; it is unwound through `extern "C"` as C would be.
    unsafe {
        assert_eq!(
            libc::pthread_create(&raw mut thread, std::ptr::null(), start, thunk as *mut _),
            0
        );
        assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
    }
    assert_eq!(result as usize, 7);
    assert_eq!(ENDED.load(Ordering::Relaxed), 1);
}

#[test]
fn symbols_are_found_as_the_loader_finds_them() {
    let mut found = None;
    image::for_each(&mut |image| {
        let Some(dynamic) = image.dynamic() else {
            return ControlFlow::Continue(());
        };
        if image.path.to_bytes().ends_with(b"libc.so.6") {
            found = Some((
                symbols::defined(image, &dynamic, "getppid"),
                symbols::defined(image, &dynamic, "no_such_function"),
            ));
            assert!(image.is_readable(image.range().start, 64));
            assert!(!image.is_readable(image.range().end, 1));
            assert!(image.build_id().is_some());
        }
        ControlFlow::Continue(())
    });
    // SAFETY: the name ends with a zero byte.
    let expected = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"getppid".as_ptr()) } as usize;
    assert_eq!(found, Some((Some(expected), None)));
}

fn protection(address: usize) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let covers = |line: &&str| {
        let (range, _) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        (number(start)..number(end)).contains(&address)
    };
    maps.lines()
        .find(covers)
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .to_owned()
}

#[test]
fn a_slot_of_this_program_is_redirected_and_its_page_is_closed_again() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn count(_: &Site, _: &mut Frame) {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    let mut slot = None;
    let mut relro = 0..0;
    image::for_each(&mut |image| {
        if image.path.is_empty() {
            let dynamic = image.dynamic().unwrap();
            relro = image.relro();
            slots::for_each(image, &dynamic, &mut |found| {
                if found.name == "getppid" {
                    assert!(!found.defined_here);
                    slot = Some((found.address, found.kind));
                }
            })
            .unwrap();
        }
        ControlFlow::Continue(())
    });
    let (address, kind) = slot.expect("this program calls getppid");
    assert!(matches!(kind, SlotKind::GlobDat | SlotKind::JumpSlot));
    // SAFETY: always succeeds.
    let parent = unsafe { libc::getppid() };
    let before = protection(address);
    // SAFETY: the address is a slot, which holds the function's address: Rust binds at the start.
    let target = unsafe { *(address as *const usize) };
    let site = Site {
        target,
        before: count,
        after: nothing,
    };
    let thunk = thunk(
        Gate::Closed,
        Way::Before,
        std::ptr::from_mut(counter()),
        site,
    );
    let mut writer = SlotWriter::new(relro);
    // SAFETY: the slot is this program's; the thunk leads to the same function.
    assert_eq!(unsafe { writer.write(address, thunk) }, Ok(target));
    drop(writer);
    assert_eq!(protection(address), before);
    // SAFETY: always succeeds.
    assert_eq!(unsafe { libc::getppid() }, parent);
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}
