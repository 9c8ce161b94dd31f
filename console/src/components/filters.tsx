/** Filters of a list, kept in the address. */
import { useEffect, useRef } from 'preact/hooks'
import { query, setQuery } from '../state/router.ts'
import { Field } from './dialog.tsx'

/** A text filter waits until typing pauses. */
const PAUSE_MS = 250

export function TextFilter({
  name,
  label,
  placeholder,
}: {
  readonly name: string
  readonly label: string
  readonly placeholder?: string
}) {
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const change = (value: string): void => {
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setQuery({ [name]: value, page: '', cursor: '' }), PAUSE_MS)
  }
  return (
    <Field label={label}>
      {id => (
        <input
          id={id}
          type="search"
          autocomplete="off"
          spellcheck={false}
          placeholder={placeholder}
          defaultValue={query.value.get(name) ?? ''}
          onInput={event => change(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

export function ChoiceFilter({
  name,
  label,
  options,
}: {
  readonly name: string
  readonly label: string
  readonly options: readonly (readonly [value: string, title: string])[]
}) {
  return (
    <Field label={label}>
      {id => (
        <select
          id={id}
          value={query.value.get(name) ?? ''}
          onChange={event => setQuery({ [name]: event.currentTarget.value, page: '', cursor: '' })}
        >
          {options.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
