/** `toolgate config schema`: prints the JSON Schema of configuration files. */
import { configurationSchema } from '../../../control-plane/api/configuration-schema.ts'
import { EXIT, print } from '../command.ts'

export function printSchema(): number {
  print(`${JSON.stringify(configurationSchema(), undefined, 2)}\n`)
  return EXIT.ok
}
