/** Compiles the WebAssembly of PGlite with V8's baseline compiler, by flags of V8 that are on again afterwards. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'

/**
 * The optimizing compiler takes 600 MB for one function of PGlite in Node 24 and 86 MB in Node 20, and more processor time than what the
 * database runs in its first minutes: a container with 512 MB was killed at its start. Code that is compiled while `--wasm-dynamic-tiering` is
 * off does not count its executions, so that it is never optimized; it has to be compiled at once (`--no-wasm-lazy-compilation`), since
 * functions that are compiled later would count again.
 */
const WHILE_COMPILING = ['wasm-tier-up', 'wasm-dynamic-tiering', 'wasm-lazy-compilation']

let compiled: WebAssembly.Module | undefined

/** Compiled once per thread, in about 0.3 s, synchronously: so no other module is compiled with these flags in this thread. */
export function baselineModule(): WebAssembly.Module {
  compiled ??= compile()
  return compiled
}

function compile(): WebAssembly.Module {
  const bytes = readFileSync(createRequire(import.meta.url).resolve('@electric-sql/pglite/pglite.wasm'))
  for (const flag of WHILE_COMPILING) setFlagsFromString(`--no-${flag}`)
  try {
    return new WebAssembly.Module(bytes)
  } finally {
    // their earlier values are not read
    for (const flag of WHILE_COMPILING) setFlagsFromString(`--${flag}`)
  }
}
