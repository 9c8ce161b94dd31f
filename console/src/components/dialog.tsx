/** Dialogs and forms: the browser's own dialog element, which keeps the focus and closes with Escape. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { ApiError } from '../api/client.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly wide?: boolean
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, wide, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // in the commit: keys pressed at once belong to the dialog
  useLayoutEffect(() => {
    element.current?.showModal()
  }, [])
  return (
    <dialog ref={element} aria-labelledby={heading} onClose={onClose} class={wide === true ? 'broad' : ''}>
      <header class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="button small" onClick={() => element.current?.close()}>
          Close
        </button>
      </header>
      {children}
    </dialog>
  )
}

interface FormProps {
  readonly submit: string
  readonly danger?: boolean
  /** Called with the fields by name. An error that it throws is shown; the fields of an ApiError are listed below the message. */
  readonly onSubmit: (fields: FormData) => Promise<void>
  readonly children: ComponentChildren
}

export function Form({ submit, danger, onSubmit, children }: FormProps) {
  const error = useSignal<Error | undefined>(undefined)
  const busy = useSignal(false)
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    busy.value = true
    error.value = undefined
    try {
      await onSubmit(new FormData(event.currentTarget as HTMLFormElement))
    } catch (failure) {
      error.value = failure as Error
    } finally {
      busy.value = false
    }
  }
  const fields = error.value instanceof ApiError ? error.value.fields : []
  return (
    <form class="form" onSubmit={event => void send(event)}>
      {children}
      {error.value !== undefined && (
        <div class="notice bad" role="alert">
          <p>{error.value.message}</p>
          {fields.length > 0 && (
            <ul>
              {fields.map(({ field, message }) => (
                <li key={field}>
                  <code>{field}</code> {message}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      <div class="form-end">
        <button
          type="submit"
          class={`button ${danger === true ? 'danger' : 'primary'}`}
          disabled={busy.value}
        >
          {submit}
        </button>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly hint?: string
  readonly children: (id: string, hintId: string | undefined) => ComponentChildren
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId()
  const hintId = hint === undefined ? undefined : `${id}-hint`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hintId)}
      {hint !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface InputProps {
  readonly label: string
  readonly name: string
  readonly hint?: string
  readonly type?: 'number' | 'password' | 'url'
  readonly value?: string
  readonly required?: boolean
  readonly pattern?: string
  readonly min?: number
}

export function TextField({ label, hint, ...input }: InputProps) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(id, hintId) => (
        <input
          id={id}
          aria-describedby={hintId}
          autocomplete="off"
          spellcheck={false}
          {...(input as object)}
        />
      )}
    </Field>
  )
}

export function SelectField({
  label,
  name,
  hint,
  options,
  value,
}: {
  readonly label: string
  readonly name: string
  readonly hint?: string
  readonly options: readonly (readonly [value: string, title: string])[]
  readonly value?: string
}) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(id, hintId) => (
        <select id={id} name={name} aria-describedby={hintId}>
          {options.map(([each, title]) => (
            <option key={each} value={each} selected={each === value}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** A button that asks once more before it acts. */
export function ConfirmButton({
  label,
  question,
  onConfirm,
  children,
}: {
  readonly label: string
  readonly question: string
  readonly onConfirm: () => Promise<void>
  readonly children?: ComponentChildren
}) {
  const open = useSignal(false)
  const close = (): void => {
    open.value = false
  }
  return (
    <>
      <button
        type="button"
        class="button small"
        onClick={() => {
          open.value = true
        }}
      >
        {label}
      </button>
      {open.value && (
        <Dialog title={label} onClose={close}>
          <p>{question}</p>
          {children}
          <Form
            submit={label}
            danger
            onSubmit={async () => {
              await onConfirm()
              close()
            }}
          >
            {null}
          </Form>
        </Dialog>
      )}
    </>
  )
}
