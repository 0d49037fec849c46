// Nothing: a set of precompiled headers (precompile.cmake) needs a source to belong to.
