import type { UsersHandler } from '../../support/handlers/users.ts'
import type { Served } from '../../support/scripted-server.ts'

/** A row of an import as the test generated it, with what it requests. */
export interface TestRow {
  /** Line in the file. The header is line 1. */
  line: number
  email: string
  /** The ID of the user, if the row updates one. */
  id: string | undefined
  password: string | undefined
  role: string | undefined
  permissions: readonly string[]
  theme: string | undefined
}

/** Every how many rows an email already exists at the service, so that its create is answered with 409. */
const takenEvery = 50

/**
 * Rows of all kinds: three in four create users, and the others update them. Half have permissions, and a tenth
 * have settings. The users to update, and some that already exist, are added to the server.
 */
export function makeRows(server: Served<UsersHandler>, count: number): TestRow[] {
  return Array.from({ length: count }, (_, index) => {
    const email = `user${index}@example.com`
    const updates = index % 4 === 3
    const id = updates ? server.add({ email, name: 'Old' }) : undefined
    if (!updates && index % takenEvery === 0) server.add({ email, name: 'Taken' })
    return {
      line: index + 2,
      email,
      id,
      password: updates ? undefined : `canary-${index}-password`,
      role: index % 2 ? 'editor' : undefined,
      permissions: index % 2 ? ['read:chat', `write:room${index}`] : [],
      theme: index % 10 === 0 ? 'dark' : undefined,
    }
  })
}

/** @param passwords whether the file contains the passwords of the rows */
export function composeCsv(rows: readonly TestRow[], passwords = true): string {
  const columns = ['id', 'email', 'name', 'password', 'role', 'permissions', 'settings.theme']
  const lines = rows.map((row) =>
    [
      row.id,
      row.email,
      `Name of ${row.email}`,
      passwords ? row.password : undefined,
      row.role,
      row.permissions.join(';'),
      row.theme,
    ].join(','),
  )
  return `${[columns.join(','), ...lines].join('\n')}\n`
}
