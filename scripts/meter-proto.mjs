/**
 * Generates src/data-plane/metering/event.generated.ts from src/data-plane/metering/event.proto (protobufjs static code: no reflection, no eval).
 * Usage: node scripts/meter-proto.mjs            writes the file
 *        node scripts/meter-proto.mjs --print    writes it to standard output, for the test that compares
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const OPENING = `/** Reads and writes MeteringEvent in protobuf: generated from event.proto by \`npm run build:meter\`, never edited by hand. */
// @ts-nocheck
`

const CLOSING = `
export const MeteringEvent: {
  decode(bytes: Uint8Array): object;
  encode(message: object): { finish(): Uint8Array };
} = toolgate.metering.v1.MeteringEvent;
`

const { status, stdout, stderr } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules', 'protobufjs-cli', 'bin', 'pbjs'),
    ...[
      '--target',
      'static-module',
      '--wrap',
      'esm',
      '--dependency',
      'protobufjs/minimal.js',
      '--root',
      'metering',
    ],
    ...[
      '--keep-case',
      '--no-create',
      '--no-verify',
      '--no-convert',
      '--no-delimited',
      '--no-typeurl',
      '--no-comments',
    ],
    join(root, 'src', 'data-plane', 'metering', 'event.proto'),
  ],
  { encoding: 'utf8' },
)
if (status !== 0) {
  process.stderr.write(stderr)
  process.exit(1)
}
const code = OPENING + stdout.replace(/^\/\*eslint-disable.*\n/, '') + CLOSING
if (process.argv[2] === '--print') process.stdout.write(code)
else writeFileSync(join(root, 'src', 'data-plane', 'metering', 'event.generated.ts'), code)
