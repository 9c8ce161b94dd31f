/** Light or dark: that of the system unless the user chose one. */
import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const NAME = 'toolgate-theme'

function storedTheme(): Theme {
  const value = localStorage.getItem(NAME)
  return value === 'light' || value === 'dark' ? value : 'system'
}

export const theme = signal<Theme>(storedTheme())

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
  localStorage.setItem(NAME, theme.value)
})

export function nextTheme(): void {
  theme.value = theme.value === 'system' ? 'light' : theme.value === 'light' ? 'dark' : 'system'
}
