/** YAML files of `toolgate config`: every fault is a CommandFailure that names the file. */
import { expect, it } from 'vitest'
import { CommandFailure } from '../../../../src/app/cli/command.ts'
import { readYaml } from '../../../../src/app/cli/config/yaml.ts'

const aliases = ['a: &a [x, x]']
for (let i = 0; i < 20; i++) aliases.push(`b${i}: &b${i} [${`*${i === 0 ? 'a' : `b${i - 1}`}, `.repeat(9)}1]`)

it.each([
  ['a fault of the syntax', 'a: {'],
  ['aliases that expand exponentially', aliases.join('\n')],
  ['an alias without an anchor', 'a: *nowhere'],
])('%s', (_, text) => {
  const read = () => readYaml('tree.yaml', text)
  expect(read).toThrow(CommandFailure)
  expect(read).toThrow(/^tree\.yaml(:1| is not valid YAML): /)
})
