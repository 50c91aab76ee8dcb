//! The constructor of the library: the first of our code that runs, before the program's.

use crate::modules::Modules;
use crate::options::Options;
use crate::state::{self, Locked, State};
use crate::{hooks, process};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = start;

extern "C" fn start() {
    state::set_state(State {
        options: Options::read(),
        modules: Locked::new(Modules::default()),
    });
    refsan_hook::trampoline::on_forced_unwind(hooks::attach::thread_ended);
    process::register();
    if let Some(state) = state::state() {
        state.modules.with(|modules| modules.look(true));
    }
}
