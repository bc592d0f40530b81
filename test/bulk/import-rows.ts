import type { UsersServer } from '../support/users-server.ts'

/** A row of an import as the test made it, and what it asks for. */
export interface TestRow {
  /** In the file, from 1; the header is line 1. */
  line: number
  email: string
  /** Of a row that updates. */
  id: string | undefined
  password: string | undefined
  role: string | undefined
  permissions: readonly string[]
  theme: string | undefined
}

/** Emails that the service has already, so that a create is answered with 409. */
const takenEvery = 50

/**
 * Rows of all kinds: three in four are created, the others updated; half have permissions, a tenth
 * settings. The users that are to be updated, and some that are in the way, are added to the server.
 */
export function makeRows(server: UsersServer, count: number): TestRow[] {
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

/** @param passwords whether the passwords of the rows are in it */
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
