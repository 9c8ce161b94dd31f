/**
 * Writes `dist/cli/index.js`, the `bin` of the package: it starts the bundled command line and does nothing else. The path never changes,
 * because npx caches a link to it and an update in place would break the link.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../dist/cli/index.js', import.meta.url))
mkdirSync(new URL('../dist/cli/', import.meta.url), { recursive: true })
writeFileSync(bin, "#!/usr/bin/env node\nimport '../bundle/app-cli-index.js'\n")
chmodSync(bin, 0o755)
