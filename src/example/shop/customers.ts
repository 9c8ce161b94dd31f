/** Customers and their addresses. Carts and orders are in other files. */
import { shopConflict, shopInvalid } from './problem.ts'
import { type Handlers, type ShopPaging, type ShopResponse, shopPageOf } from './request.ts'
import { type Address, born, type Customer, markChanged, type ShopState } from './state.ts'

const LABEL = /^[a-z][a-z0-9-]{0,19}$/
const MAX_ADDRESSES = 10

interface CustomerInput extends Pick<Customer, 'name' | 'email'> {
  readonly phone?: string
  readonly addresses?: Record<string, Address>
}

export function customerHandlers(state: ShopState): Handlers {
  return {
    listCustomers({ query }) {
      const { q = '', ...paging } = query as ShopPaging & { readonly q?: string }
      const found = state.customers
        .all()
        .filter(({ name, email }) => `${name}\n${email}`.toLowerCase().includes(q.toLowerCase()))
        .sort((a, b) => a.name.localeCompare(b.name))
      return { status: 200, body: shopPageOf(found, paging) }
    },
    createCustomer({ body }) {
      const { name, email, phone = null, addresses = {} } = body as CustomerInput
      checkEmail(state, email, undefined)
      const fields = { name, email, phone, addresses, ...born(new Date().toISOString()) }
      return { status: 201, body: state.customers.add(id => ({ id, ...fields })) }
    },
    getCustomer: ({ params }) => ({ status: 200, body: state.customers.get(params.customerId!) }),
    updateCustomer({ params, body }) {
      const customer = state.customers.get(params.customerId!)
      const patch = body as Partial<Pick<Customer, 'name' | 'email' | 'phone'>>
      if (patch.email !== undefined) checkEmail(state, patch.email, customer.id)
      return update(customer, patch)
    },
    setAddress: ({ params, body }) =>
      setAddress(state.customers.get(params.customerId!), params.label!, body as Address),
  }
}

function checkEmail(state: ShopState, email: string, own: string | undefined): void {
  const other = state.customers
    .all()
    .find(customer => customer.email.toLowerCase() === email.toLowerCase() && customer.id !== own)
  if (other !== undefined)
    throw shopConflict('email-taken', `Customer ${other.id} already has this e-mail address.`)
}

function setAddress(customer: Customer, label: string, address: Address): ShopResponse {
  if (!LABEL.test(label))
    throw shopInvalid([
      { field: 'label', message: 'must have 1 to 20 lower-case letters, digits or hyphens' },
    ])
  if (!Object.hasOwn(customer.addresses, label) && Object.keys(customer.addresses).length >= MAX_ADDRESSES)
    throw shopConflict(
      'addresses-full',
      `A customer can have at most ${MAX_ADDRESSES} addresses. Replace one.`,
    )
  return update(customer, { addresses: { ...customer.addresses, [label]: address } })
}

function update(customer: Customer, values: Partial<Customer>): ShopResponse {
  Object.assign(customer, values)
  markChanged(customer)
  return { status: 200, body: customer }
}
