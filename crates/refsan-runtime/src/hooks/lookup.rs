//! A symbol is looked up: something may have been loaded.

use refsan_hook::trampoline::{Frame, Site};

use crate::errno::KeepErrno;
use crate::modules;

pub unsafe extern "C" fn before(_site: &Site, _frame: &mut Frame) {
    let _errno = KeepErrno::new();
    modules::look_again();
}
