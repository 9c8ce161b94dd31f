/** Themes of the portal: what they set, the field that each fault names, and the contrast of colors. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  contrastOf,
  DEFAULT_THEME,
  DEFAULTS,
  MAX_LOGO_BYTES,
  mixOf,
  ThemeFault,
  themeOf,
} from '../../../src/console/theme.ts'

const png = (bytes: number): string => `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}`

function faultOf(theme: unknown): string {
  try {
    themeOf(theme)
  } catch (error) {
    if (error instanceof ThemeFault) return error.field
    throw error
  }
  return 'none'
}

it('computes the contrast of WCAG', () => {
  expect(contrastOf('#000000', '#ffffff')).toBe(21)
  expect(contrastOf('#ffffff', '#ffffff')).toBe(1)
  expect(contrastOf('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
  expect(mixOf('#ff0000', '#0000ff', 0.25)).toBe('#4000bf')
})

describe('a theme', () => {
  it('may be empty', () => {
    expect(themeOf({})).toEqual(DEFAULT_THEME)
  })

  it('sets title, lead, logo and colors, and one button for both schemes', () => {
    const theme = themeOf({
      title: 'Acme',
      lead: 'Parcels.',
      logo: png(3),
      colors: { light: { accent: '#8A1C5A', button: '#8a1c5a' }, dark: { accent: '#f0a3cf' } },
    })
    expect(theme).toMatchObject({ title: 'Acme', lead: 'Parcels.' })
    expect(theme.logo).toEqual({ type: 'image/png', bytes: new Uint8Array(3) })
    expect(theme.css).toContain('--accent: light-dark(#8A1C5A, #f0a3cf);')
    expect(theme.css).toContain('--accent-back: light-dark(#8a1c5a, #8a1c5a);')
    expect(theme.css).toContain('--text: light-dark(#1a2029, #e6eaf0);')
  })

  it.each([
    [null, 'theme'],
    [[], 'theme'],
    ['text', 'theme'],
    [{ titel: 'Acme' }, 'titel'],
    [{ title: '' }, 'title'],
    [{ title: 'x'.repeat(61) }, 'title'],
    [{ lead: 7 }, 'lead'],
    [{ logo: 'https://elsewhere.example/logo.png' }, 'logo'],
    [{ logo: 'data:text/html;base64,AAAA' }, 'logo'],
    [{ logo: '../../etc/passwd' }, 'logo'],
    [{ logo: png(MAX_LOGO_BYTES + 1) }, 'logo'],
    [{ colors: { blue: {} } }, 'colors.blue'],
    [{ colors: { light: 7 } }, 'colors.light'],
    [{ colors: { light: { link: '#000000' } } }, 'colors.light.link'],
    [{ colors: { dark: { accent: 'red' } } }, 'colors.dark.accent'],
    [{ colors: { light: { accent: '#000000;}*{display:none' } } }, 'colors.light.accent'],
    [{ colors: { light: { accent: '#7a9bff' } } }, 'colors.light.accent'],
    [{ colors: { light: { text: '#999999' } } }, 'colors.light.text'],
    [{ colors: { dark: { button: '#8aa8ff' } } }, 'colors.dark.button'],
    [{ colors: { light: { back: '#3c3c3c', text: '#ffffff', accent: '#ffffff' } } }, 'colors.light.text'],
    [{ colors: { dark: { surface: '#3a4250' } } }, 'colors.dark.accent'],
  ] as const)('names the field of the fault in %j', (theme, field) => {
    expect(faultOf(theme)).toBe(field)
  })

  it('starts from the colors of the page', () => {
    const css = readFileSync('console/src/styles/main.css', 'utf8')
    const names = {
      accent: '--accent',
      button: '--accent-back',
      back: '--back',
      surface: '--surface',
      text: '--text',
      muted: '--muted',
    } as const
    for (const [name, variable] of Object.entries(names)) {
      const at = name as keyof typeof names
      expect(css).toContain(`  ${variable}: light-dark(${DEFAULTS.light[at]}, ${DEFAULTS.dark[at]});`)
    }
  })
})
