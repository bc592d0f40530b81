/** A resource that a test opens and must close. */
type Closable = {
  [method in (typeof closingMethods)[number]]: Record<method, () => unknown>
}[(typeof closingMethods)[number]]
const closingMethods = ['close', 'stop', 'end', 'remove'] as const

/** Call it inside a describe. Opens a new resource before each test, and closes it after the test. */
export function perTest<T extends Closable>(open: () => T | Promise<T>): T
export function perTest<T extends object>(open: () => T | Promise<T>, close: (opened: T) => unknown): T
export function perTest<T extends object>(
  open: () => T | Promise<T>,
  close: (opened: T) => unknown = closeItself,
): T {
  return openBetween(beforeEach, 'afterEach', open, close)
}

/** Call it inside a describe. Opens one resource for all tests, and closes it after the last test. */
export function perSuite<T extends Closable>(open: () => T | Promise<T>): T
export function perSuite<T extends object>(open: () => T | Promise<T>, close: (opened: T) => unknown): T
export function perSuite<T extends object>(
  open: () => T | Promise<T>,
  close: (opened: T) => unknown = closeItself,
): T {
  return openBetween(before, 'afterAll', open, close)
}

function openBetween<T extends object>(
  first: Mocha.HookFunction,
  last: 'afterEach' | 'afterAll',
  open: () => T | Promise<T>,
  close: (opened: T) => unknown,
): T {
  let opened: T | undefined
  first(async function () {
    const fresh = await open()
    opened = fresh
    closersOf(this.test?.parent as Mocha.Suite, last).push(async () => {
      opened = undefined
      await close(fresh)
    })
  })
  return forward(() => {
    if (!opened) throw new Error('This exists only while a test or hook of its suite runs')
    return opened
  })
}

type Closer = () => Promise<void>

const closers = {
  afterEach: new WeakMap<Mocha.Suite, Closer[]>(),
  afterAll: new WeakMap<Mocha.Suite, Closer[]>(),
}

/** The functions that close the resources of a suite, the last opened first, after all hooks of the suite. */
function closersOf(suite: Mocha.Suite, last: 'afterEach' | 'afterAll'): Closer[] {
  const known = closers[last].get(suite)
  if (known) return known
  const added: Closer[] = []
  closers[last].set(suite, added)
  // A hook that is added while the suite runs follows the declared hooks.
  suite[last](async () => {
    for (const close of added.splice(0).reverse()) await close()
  })
  return added
}

/** An object that forwards to the current resource, so that a test needs no variable. */
export function forward<T extends object>(current: () => T): T {
  return new Proxy({} as T, {
    get(_, name) {
      const value: unknown = Reflect.get(current(), name)
      return typeof value === 'function' ? value.bind(current()) : value
    },
    set: (_, name, value) => Reflect.set(current(), name, value),
    has: (_, name) => Reflect.has(current(), name),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor(_, name) {
      const found = Reflect.getOwnPropertyDescriptor(current(), name)
      return found && { ...found, configurable: true }
    },
  })
}

/** For `await using`, which then closes a resource at the end of its scope. */
export const closing = <T extends { close(): unknown }>(opened: T): T & AsyncDisposable =>
  Object.assign(opened, { [Symbol.asyncDispose]: async () => void (await opened.close()) })

function closeItself(opened: object): unknown {
  const methods = opened as Record<string, () => unknown>
  const name = closingMethods.find((method) => method in opened) ?? 'close'
  return methods[name]?.()
}
