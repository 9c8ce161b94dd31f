/** The worker thread that compiles schemas and checks arguments for a serving thread. */
import { parentPort } from 'node:worker_threads'
import { readJson } from '../json/exact-number.ts'
import type { JsonSchema } from '../json/json-schema.ts'
import type { CheckMessage, CheckRequest, SchemaMessage } from './check-messages.ts'
import { compileValidator } from './validate.ts'

/** Ajv releases compiled schemas in groups; all of them are dropped together. */
const MAX_SCHEMAS = 500

const port = parentPort
if (port === null) throw new Error('this file must be started as a worker thread')

type Validator = ReturnType<typeof compileValidator>
const validators = new Map<number, Validator>()
let pending: CheckRequest | undefined

function send(message: CheckMessage): void {
  port!.postMessage(message)
}

function compile(schemaId: number, schema: JsonSchema): Validator {
  if (validators.size >= MAX_SCHEMAS) validators.clear()
  const validator = compileValidator(schema, send)
  validators.set(schemaId, validator)
  return validator
}

port.on('message', (message: CheckRequest | SchemaMessage) => {
  if ('schema' in message) {
    if (pending === undefined) return
    const { schemaId, args } = pending
    pending = undefined
    return send(compile(schemaId, readJson(message.schema) as JsonSchema)(readJson(args)))
  }
  const known = validators.get(message.schemaId)
  if (known !== undefined) return send(known(readJson(message.args)))
  pending = message
  send('needs_schema')
})
