/** Writes src/data-plane/kernel/abi.ts from assembly/abi.ts: the same constants without AssemblyScript's types. `--check` only compares. */
import { readFileSync, writeFileSync } from 'node:fs'

const source = new URL('../assembly/abi.ts', import.meta.url)
const target = new URL('../src/data-plane/kernel/abi.ts', import.meta.url)

const HEADER = `/**
 * What both sides of the boundary agree on: status codes, method numbers, struct offsets, limits. No code, only integer constants.
 * Generated from assembly/abi.ts by \`npm run build:kernel\`: change that file, not this one.
 */`

/** Drops the file's own header comment and the type of every constant; anything else in the file is a fault. */
export function hostConstants(text) {
  const body = text.replace(/^\/\*\*[\s\S]*?\*\//, '')
  const lines = body.split('\n').map(line => {
    if (/^(\/\/|\/\*\*| \*|$)/.test(line)) return line
    const constant = /^export const ([A-Z][A-Z0-9_]*): i32 = (-?\d+)$/.exec(line)
    if (constant === null)
      throw new Error(
        `assembly/abi.ts: "${line}" is not "export const NAME: i32 = <integer>"; the host cannot copy it`,
      )
    return `export const ${constant[1]} = ${constant[2]}`
  })
  return HEADER + lines.join('\n')
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const wanted = hostConstants(readFileSync(source, 'utf8'))
  if (process.argv.includes('--check')) {
    if (readFileSync(target, 'utf8') !== wanted) {
      console.error('src/data-plane/kernel/abi.ts is not what assembly/abi.ts says; run npm run build:kernel')
      process.exitCode = 1
    }
  } else {
    writeFileSync(target, wanted)
  }
}
