/** Reads the theme of the portal and its logo from files. `src/console/theme.ts` checks the fields. */
import { readFileSync, statSync } from 'node:fs'
import { dirname, extname, isAbsolute, join } from 'node:path'
import { DEFAULT_THEME, MAX_LOGO_BYTES, type Theme, ThemeFault, themeOf } from '../../console/theme.ts'
import { readYaml } from '../cli/config/yaml.ts'

const MAX_BYTES = 512 * 1024
const LOGO_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
}

/** @param path undefined: the look of the package. @throws Error that names the field, or the file that cannot be read */
export function readTheme(path: string | undefined): Theme {
  if (path === undefined) return DEFAULT_THEME
  const value = readYaml(path, readFile(path, MAX_BYTES).toString('utf8')) as { logo?: unknown } | null
  const logo = value?.logo
  if (typeof logo !== 'string' || logo.startsWith('data:')) return themeOf(value)
  const type = LOGO_TYPES[extname(logo).toLowerCase()]
  // a data URL is checked like every other, so the fault names the field
  if (type === undefined || isAbsolute(logo) || logo.split(/[\\/]/).includes('..')) return themeOf(value)
  const bytes = readLogo(join(dirname(path), logo))
  return themeOf({ ...value, logo: `data:${type};base64,${bytes.toString('base64')}` })
}

/** @throws ThemeFault */
function readLogo(path: string): Buffer {
  try {
    return readFile(path, MAX_LOGO_BYTES)
  } catch (error) {
    throw new ThemeFault('logo', `cannot be read: ${(error as Error).message}`)
  }
}

function readFile(path: string, maxBytes: number): Buffer {
  const { size } = statSync(path)
  if (size > maxBytes) throw new Error(`${path} has ${size} bytes; at most ${maxBytes} are read.`)
  return readFileSync(path)
}
