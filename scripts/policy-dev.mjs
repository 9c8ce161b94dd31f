/** `npm run dev:policy`: the command `toolgate policy watch` from the sources, beside a running gateway. */
import { policy } from '../src/app/cli/policy.ts'

process.exitCode = await policy(['watch', ...process.argv.slice(2)])
