/** Rewrites the built kernel so that each access to its memory is reported with its address first. It runs no kernel and changes no result. */
import { readFileSync } from 'node:fs'
import binaryen from 'binaryen'

/** How an access takes a cache line: `release` is an atomic store, which the compilers emit as an exchange. */
export const KINDS = ['load', 'store', 'rmw', 'release'] as const
export type AccessKind = (typeof KINDS)[number]

const KERNEL = new URL('../../build/kernel.wasm', import.meta.url)
const ACCESS =
  /^(\s+)((?:i32|i64|v128)\.[\w.]*(?:load|store|rmw)[\w.]*|memory\.fill)((?: (?:offset|align)=\d+)*)$/gm

interface Helper {
  readonly name: string
  readonly text: string
}

/**
 * The release kernel with one more import, `env.trace(address, bytes, kind)`, called directly before each access, when its operands are known.
 * Binaryen's pass `instrument-memory` does the same for loads and stores but not for atomic read-modify-write, so each access is replaced here
 * by a call of a function that reports it and makes it.
 */
export function instrumentKernel(): WebAssembly.Module {
  const source = binaryen.readBinary(new Uint8Array(readFileSync(KERNEL)))
  const text = source.emitStackIR()
  source.dispose()
  const traced = binaryen.parseText(instrumentText(text))
  traced.setFeatures(binaryen.Features.All)
  const bytes = traced.emitBinary()
  traced.dispose()
  return new WebAssembly.Module(bytes as Uint8Array<ArrayBuffer>)
}

/** @param text a module in flat text form: one instruction on each line, as Binaryen prints it */
export function instrumentText(text: string): string {
  const helpers = new Map<string, Helper>()
  const body = text.replace(ACCESS, (_, indent: string, operation: string, immediates: string) => {
    const key = operation + immediates
    let helper = helpers.get(key)
    if (helper === undefined) {
      helper = helperOf(operation, immediates, `$traced${helpers.size}`)
      helpers.set(key, helper)
    }
    return `${indent}call ${helper.name}`
  })
  const withImport = body.replace(
    /^ \(import "env" "memory".*$/m,
    line => `${line}\n (import "env" "trace" (func $trace (param i32 i32 i32)))`,
  )
  const end = withImport.lastIndexOf(')')
  return `${withImport.slice(0, end)}${[...helpers.values()].map(one => one.text).join('\n')}\n)`
}

export function kindOf(operation: string): AccessKind {
  if (operation.includes('.rmw')) return 'rmw'
  if (operation.includes('.atomic.store')) return 'release'
  return operation.includes('store') || operation === 'memory.fill' ? 'store' : 'load'
}

function helperOf(operation: string, immediates: string, name: string): Helper {
  const type = operation.slice(0, operation.indexOf('.'))
  const kind = kindOf(operation)
  const offset = Number(/offset=(\d+)/.exec(immediates)?.[1] ?? 0)
  const filling = operation === 'memory.fill'
  const operands = filling
    ? ['i32', 'i32', 'i32']
    : ['i32', ...Array<string>(operandsOf(operation)).fill(type)]
  const result = kind === 'load' || kind === 'rmw' ? ` (result ${type})` : ''
  const bytes = filling ? 'local.get 2' : `i32.const ${bytesOf(operation)}`
  const lines = [
    `(func ${name} (param ${operands.join(' ')})${result}`,
    ' local.get 0',
    ` i32.const ${offset}`,
    ' i32.add',
    ` ${bytes}`,
    ` i32.const ${KINDS.indexOf(kind)}`,
    ' call $trace',
    ...operands.map((_, at) => ` local.get ${at}`),
    ` ${operation}${immediates}`,
    ')',
  ]
  return { name, text: lines.join('\n') }
}

function operandsOf(operation: string): number {
  if (operation.endsWith('.cmpxchg') || operation.includes('cmpxchg_')) return 2
  return kindOf(operation) === 'load' ? 0 : 1
}

/** From the width in the name (`load8_u`), or of the type. */
function bytesOf(operation: string): number {
  const narrow = /(?:load|store|rmw)(8|16|32)/.exec(operation)?.[1]
  if (narrow !== undefined) return Number(narrow) / 8
  return operation.startsWith('v128') ? 16 : operation.startsWith('i64') ? 8 : 4
}
