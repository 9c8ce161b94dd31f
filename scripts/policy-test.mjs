/** `npm run policy:test`: the command `toolgate policy test` from the sources, without building TypeScript first. */
import { runCommand } from '../src/app/cli/program.ts'

process.exitCode = await runCommand(['policy', 'test', ...process.argv.slice(2)])
