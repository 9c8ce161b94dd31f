/** Help of most commands (not audit, bridge, config follow, db backup, restore, copy), and wrong usage. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runToolgate } from '../../../fixtures/command.ts'

const COMMANDS = [
  ...['serve', 'demo', 'doctor', 'toolset lint', 'toolset render', 'db migrate', 'db status'],
  ...['config export', 'config diff', 'config apply', 'config validate', 'config schema'],
  ...['metering tail', 'metering verify', 'policy new', 'policy watch', 'policy build'],
  ...['policy test', 'policy eval', 'policy explain', 'policy replay', 'policy diff'],
]
const GROUPS = ['toolset', 'config', 'db', 'metering', 'policy']

describe('--help', () => {
  it.each(COMMANDS)('of %s has a usage, examples and exit codes', async name => {
    for (const flag of ['--help', '-h']) {
      const { code, out, err } = await runToolgate([...name.split(' '), flag])
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain(`Usage: toolgate ${name} `)
      expect(out).toMatch(new RegExp(`Examples:\n.*toolgate ${name}`))
      expect(out).toMatch(/Exit codes: 0 .*, 64 wrong usage\./)
    }
  })

  it.each(COMMANDS.filter(name => name !== 'serve' && name !== 'policy watch'))(
    'of %s offers --json',
    async name => {
      const { out } = await runToolgate([...name.split(' '), '--help'])
      expect(out).toContain('--json')
    },
  )

  it.each(['', ...GROUPS])('lists the subcommands of "%s"', async group => {
    const path = group === '' ? [] : [group]
    const { code, out } = await runToolgate([...path, '--help'])
    expect(code).toBe(0)
    expect(out).toContain(`Usage: ${['toolgate', ...path].join(' ')} `)
    for (const name of COMMANDS)
      if (name.startsWith(group)) expect(out).toContain(name.split(' ')[path.length])
  })

  it('loads no vendor package but commander', () => {
    expect([...packagesOf(join(import.meta.dirname, '../../../../src/app/cli/program.ts'))]).toEqual([
      'commander',
    ])
  })
})

/** Packages that a file loads when it is imported, directly or through other files; `import()` does not count. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return new Set()
  seen.add(file)
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type\b)[^']*?from '([^']+)'/gm)
  const packages = new Set<string>()
  for (const [, name] of imports) {
    if (name!.startsWith('.'))
      for (const found of packagesOf(join(dirname(file), name!), seen)) packages.add(found)
    else if (!name!.startsWith('node:')) packages.add(name!)
  }
  return packages
}

describe('wrong usage', () => {
  it.each<[string, string]>([
    ['', 'Usage: toolgate'],
    ['policy', 'Usage: toolgate policy'],
    ['serv', 'Did you mean serve?'],
    ['toString', "unknown command 'toString'"],
    ['policy evl', 'Did you mean eval?'],
    ['policy eval --bundel x', 'Did you mean --bundle?'],
    ['policy eval twice', 'too many arguments'],
    ['policy diff', "missing required argument 'candidate'"],
    ['policy replay --max-flips many', 'Use a whole number'],
    ['db migrate now', 'too many arguments'],
    ['demo --fast', '--fast'],
    ['demo --url localhost:8080', 'Write "localhost:8080" as http://'],
    ['doctor', "required option '--url <url>' not specified"],
    ['doctor --url gateway', 'Write "gateway" as http://'],
    ['doctor --url http://localhost --client netscape', 'claude, cursor, vscode, chatgpt'],
    ['toolset render', "missing required argument 'file'"],
    ['toolset lint api.json --set x', 'NAME=VALUE'],
  ])('toolgate %s', async (line, message) => {
    const { code, out, err } = await runToolgate(line.split(' ').filter(word => word !== ''))
    expect([code, out]).toEqual([64, ''])
    expect(err).toContain(message)
  })
})
