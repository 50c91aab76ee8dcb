//! Words through which code finds a thread-local variable.

/// How the word is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadLocalModel {
    /// ELF: the argument of `__tls_get_addr`, two words.
    ModulePair,
    /// ELF: a TLS descriptor, two words, of which the first is called.
    Descriptor,
    /// ELF: holds the displacement from the thread pointer.
    ThreadPointerOffset,
    /// Mach-O: a descriptor in `__thread_vars`, three words, of which the first is called.
    Thunk,
    /// PE: holds the index of the module's block.
    ModuleIndex,
}

/// Which variable the word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadLocalVariable<'a> {
    /// A displacement in this module's block; code may add a further displacement to it.
    Own(u64),
    /// A variable of another file.
    Import(&'a str),
}

/// One such word, or the first one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadLocalSlot<'a> {
    /// Address of the word.
    pub address: u64,
    /// How it is used.
    pub model: ThreadLocalModel,
    /// What it stands for.
    pub variable: ThreadLocalVariable<'a>,
}
