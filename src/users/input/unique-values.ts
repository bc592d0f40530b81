import type { ImportedUser } from '../rows/imported-user.ts'

/** A field that no two rows may share. */
type UniqueField = 'email' | 'id'

/** A field whose value an earlier row has, and the line of that row. */
interface TakenField {
  field: UniqueField
  line: number
}

/** The emails and ids of the rows so far. Email addresses are compared without case. */
export class UniqueValues {
  readonly #lines = { email: new Map<string, number>(), id: new Map<string, number>() }

  findTaken(row: ImportedUser): TakenField[] {
    return fieldsOf(row).flatMap(([field, text]) => {
      const line = this.#lines[field].get(text)
      return line === undefined ? [] : [{ field, line }]
    })
  }

  /** Adds the email and the id of a row. A value that is taken keeps its line. */
  claim(row: ImportedUser, line: number): void {
    for (const [field, text] of fieldsOf(row)) {
      if (!this.#lines[field].has(text)) this.#lines[field].set(text, line)
    }
  }
}

function fieldsOf({ email, id }: ImportedUser): [UniqueField, string][] {
  const fields: [UniqueField, string][] = []
  if (email !== undefined) fields.push(['email', email.toLowerCase()])
  if (id !== undefined) fields.push(['id', id])
  return fields
}
