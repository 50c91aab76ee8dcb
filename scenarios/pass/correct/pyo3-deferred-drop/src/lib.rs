//! A `Py<T>` is dropped on a Rust thread that has no thread state. PyO3 knows that the
//! thread is not attached, and queues the release until some thread is: no fault. A
//! binding that is built like this must stay silent.

use pyo3::prelude::*;
use std::thread;

/// Drops `object` on a thread that Python does not know.
#[pyfunction]
fn drop_elsewhere(py: Python<'_>, object: Py<PyAny>) {
    py.detach(|| {
        let dropper = thread::spawn(move || drop(object));
        dropper.join().expect("the thread only drops");
    });
}

/// Attaches on a thread that Python does not know, and works with objects there.
#[pyfunction]
fn append_elsewhere(py: Python<'_>, list: Py<PyAny>) -> PyResult<usize> {
    py.detach(|| {
        let appender = thread::spawn(move || {
            Python::attach(|py| {
                let list = list.bind(py);
                list.call_method1("append", ("from a Rust thread",))?;
                list.len()
            })
        });
        appender.join().expect("the thread does not panic")
    })
}

#[pymodule]
fn extension(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(drop_elsewhere, module)?)?;
    module.add_function(wrap_pyfunction!(append_elsewhere, module)?)
}
