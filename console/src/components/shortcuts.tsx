/** Keys of the shell: they open a page, focus its first field, change the theme or list the keys. */
import { signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import type { PageEntry } from '../pages/index.ts'
import { navigate } from '../state/router.ts'
import { nextTheme } from '../state/theme.ts'
import { Dialog } from './dialog.tsx'

const isHelpOpen = signal(false)
/** For `g`: the letter must follow within this time. */
const PREFIX_MS = 1_500

export function Shortcuts({ pages }: { readonly pages: readonly PageEntry[] }) {
  // in the commit: the first key after the page is drawn counts
  useLayoutEffect(() => {
    let prefixAtMs = 0
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      if (document.querySelector('dialog[open]') !== null) return
      const page = pages.find(({ key }) => key === event.key)
      if (page !== undefined && performance.now() - prefixAtMs < PREFIX_MS) navigate(page.path)
      else if (event.key === 'g') {
        prefixAtMs = performance.now()
        return
      } else if (event.key === '/') {
        const first = document.querySelector<HTMLElement>('main input, main select, main textarea')
        if (first === null) return
        first.focus()
      } else if (event.key === 't') nextTheme()
      else if (event.key === '?') isHelpOpen.value = true
      else return
      prefixAtMs = 0
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [pages])
  if (!isHelpOpen.value) return null
  const keys = [
    ...pages.map(({ key, title }) => [`g ${key}`, title] as const),
    ['/', 'Go to the first field of the page'],
    ['t', 'Change the theme'],
    ['?', 'Show this list'],
  ] as const
  return (
    <Dialog
      title="Keyboard shortcuts"
      onClose={() => {
        isHelpOpen.value = false
      }}
    >
      <dl class="facts">
        {keys.map(([key, title]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

export function showShortcuts(): void {
  isHelpOpen.value = true
}

function isTyping(event: KeyboardEvent): boolean {
  // of an event in a shadow root, `target` is its host
  const target = event.composedPath()[0]
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || /^(input|select|textarea)$/i.test(target.tagName)
}
