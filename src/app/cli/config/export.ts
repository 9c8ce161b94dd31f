/** `toolgate config export`: prints the live configuration. */
import { writeJson } from '../../../base/json/exact-number.ts'
import { type CommandContext, EXIT, print } from '../command.ts'
import { connect } from './client.ts'
import type { ConfigOptions } from './options.ts'
import { writeYaml } from './yaml.ts'

export async function exportTree(options: ConfigOptions, env: CommandContext['env']): Promise<number> {
  const call = await connect(options, env)
  const { body } = await call({ method: 'GET', query: { owner: options.owner } })
  print(options.json ? `${writeJson(body, 2)}\n` : writeYaml(body))
  return EXIT.ok
}
