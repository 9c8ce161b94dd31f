/** The look of the portal: checks a theme, decodes its logo and builds its stylesheet; also the default look. */

export interface Theme {
  readonly title: string
  /** One sentence on the first page. */
  readonly lead: string
  readonly logo: { readonly type: string; readonly bytes: Uint8Array<ArrayBuffer> } | undefined
  /** Sets all colors; '' when the theme changes none. */
  readonly css: string
}

/** The field and the fix; the first fault of a theme. */
export class ThemeFault extends Error {
  readonly field: string
  constructor(field: string, message: string) {
    super(`${field} ${message}`)
    this.field = field
  }
}

const SCHEMES = ['light', 'dark'] as const
type Scheme = (typeof SCHEMES)[number]
/** Color of the theme → variable of `styles/main.css`. */
const VARIABLES = {
  accent: '--accent',
  button: '--accent-back',
  back: '--back',
  surface: '--surface',
  text: '--text',
} as const
type ColorName = keyof typeof VARIABLES
type Colors = Readonly<Record<ColorName, string>>

/** The colors of `styles/main.css`, and its muted text, which a theme cannot change; a test compares them. */
export const DEFAULTS: Readonly<Record<Scheme, Colors & { readonly muted: string }>> = {
  light: {
    accent: '#2450d8',
    button: '#2450d8',
    back: '#f6f7f9',
    surface: '#ffffff',
    text: '#1a2029',
    muted: '#566070',
  },
  dark: {
    accent: '#8aa8ff',
    button: '#3559d6',
    back: '#0e1116',
    surface: '#161b22',
    text: '#e6eaf0',
    muted: '#9ba6b5',
  },
}
/** WCAG 2.2 §1.4.3 */
const MIN_CONTRAST = 4.5
/** For the accent in the background of what is selected. */
const SOFT_SHARE = 0.1
export const MAX_LOGO_BYTES = 128 * 1024
const LOGO = /^data:(image\/(?:png|jpeg|webp|svg\+xml));base64,([A-Za-z0-9+/]+={0,2})$/

export const DEFAULT_THEME: Theme = {
  title: 'Developer portal',
  lead: 'APIs and tools for applications and agents.',
  logo: undefined,
  css: '',
}

/** @throws ThemeFault */
export function themeOf(value: unknown): Theme {
  const fields = objectOf('theme', value, ['title', 'lead', 'logo', 'colors'])
  const given = objectOf('colors', fields.colors ?? {}, SCHEMES)
  const light = colorsOf('light', given.light ?? {}, DEFAULTS.light)
  // a button has a white label in both, so one color is enough
  const dark = colorsOf('dark', given.dark ?? {}, { ...DEFAULTS.dark, button: buttonOf(given.light) })
  return {
    title: textOf('title', fields.title ?? DEFAULT_THEME.title, 60),
    lead: textOf('lead', fields.lead ?? DEFAULT_THEME.lead, 300),
    logo: fields.logo === undefined ? undefined : logoOf(fields.logo),
    css: given.light === undefined && given.dark === undefined ? '' : stylesheet(light, dark),
  }
}

function objectOf(field: string, value: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ThemeFault(field, `must be an object. Allowed fields: ${names.join(', ')}.`)
  const unknown = Object.keys(value).find(name => !names.includes(name))
  if (unknown !== undefined)
    throw new ThemeFault(
      field === 'theme' ? unknown : `${field}.${unknown}`,
      `is not an allowed field. Allowed fields: ${names.join(', ')}.`,
    )
  return value as Record<string, unknown>
}

function textOf(field: string, value: unknown, max: number): string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > max)
    throw new ThemeFault(field, `must be a string of 1 to ${max} characters.`)
  return value
}

function logoOf(value: unknown): Theme['logo'] {
  const [, type, data] = LOGO.exec(typeof value === 'string' ? value : '') ?? []
  if (type === undefined)
    throw new ThemeFault(
      'logo',
      'must be a PNG, JPEG, WebP or SVG image: a base64 data URL, or the name of a file in the folder of the theme.',
    )
  const bytes = new Uint8Array(Buffer.from(data!, 'base64'))
  if (bytes.byteLength > MAX_LOGO_BYTES)
    throw new ThemeFault('logo', `has ${bytes.byteLength} bytes; at most ${MAX_LOGO_BYTES} are served.`)
  return { type, bytes }
}

function buttonOf(light: unknown): string {
  return (light as { readonly button?: string } | undefined)?.button ?? DEFAULTS.dark.button
}

function colorsOf(scheme: Scheme, value: unknown, defaults: (typeof DEFAULTS)[Scheme]): Colors {
  const field = `colors.${scheme}`
  const given = objectOf(field, value, Object.keys(VARIABLES))
  for (const [name, color] of Object.entries(given))
    if (!isColor(color)) throw new ThemeFault(`${field}.${name}`, 'must be a color such as "#2450d8".')
  const colors = { ...defaults, ...given } as typeof defaults
  const { accent, button, back, surface, text, muted } = colors
  const pairs = [
    ['text', text, back, 'back'],
    ['text', text, surface, 'surface'],
    ['accent', accent, back, 'back'],
    ['accent', accent, surface, 'surface'],
    ['accent', accent, mixOf(accent, surface, SOFT_SHARE), 'the mix of accent and surface'],
    ['button', button, '#ffffff', 'the white label of buttons'],
    ['back', muted, back, `muted text (${muted})`],
    ['surface', muted, surface, `muted text (${muted})`],
  ] as const
  for (const [name, first, second, other] of pairs) {
    const contrast = contrastOf(first, second)
    if (contrast < MIN_CONTRAST)
      throw new ThemeFault(
        `${field}.${name}`,
        `has a contrast of ${contrast.toFixed(2)} to ${other}; the minimum is ${MIN_CONTRAST}.`,
      )
  }
  return { accent, button, back, surface, text }
}

function stylesheet(light: Colors, dark: Colors): string {
  const lines = Object.entries(VARIABLES).map(([name, variable]) => {
    const at = name as ColorName
    return `  ${variable}: light-dark(${light[at]}, ${dark[at]});`
  })
  const soft = [light, dark].map(({ accent, surface }) => mixOf(accent, surface, SOFT_SHARE))
  return `:root:root {\n${lines.join('\n')}\n  --accent-soft: light-dark(${soft.join(', ')});\n}\n`
}

export function isColor(value: unknown): value is string {
  return typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value)
}

function channels(color: string): readonly number[] {
  return [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))
}

function luminance(color: string): number {
  const [red, green, blue] = channels(color).map(value => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** WCAG 2.2, contrast ratio: from 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

/** @param share of the first color, from 0 to 1 */
export function mixOf(one: string, other: string, share: number): string {
  const base = channels(other)
  const mixed = channels(one).map((value, at) => Math.round(value * share + base[at]! * (1 - share)))
  return `#${mixed.map(value => value.toString(16).padStart(2, '0')).join('')}`
}
