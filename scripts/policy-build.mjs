/** `npm run policy:build`: the command `toolgate policy build` from the sources, without building TypeScript first. */
import { policy } from '../src/app/cli/policy.ts'

process.exitCode = await policy(['build', ...process.argv.slice(2)])
