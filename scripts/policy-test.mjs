/** `npm run policy:test`: the command `toolgate policy test` from the sources, without building TypeScript first. */
import { policy } from '../src/app/cli/policy.ts'

process.exitCode = await policy(['test', ...process.argv.slice(2)])
