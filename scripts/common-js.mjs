/** The first lines of a bundle as an ES module: `require`, `__filename` and `__dirname` for packages in CommonJS within it. */
export const COMMON_JS = `import { createRequire as __createRequire } from 'node:module'
import { dirname as __dirnameOf } from 'node:path'
import { fileURLToPath as __fileURLToPath } from 'node:url'
const require = __createRequire(import.meta.url), __filename = __fileURLToPath(import.meta.url), __dirname = __dirnameOf(__filename)`
