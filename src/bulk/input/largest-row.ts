import { Failure } from '../../contract/failure.ts'

/** UTF-16 units. A row is held as a whole, and a file that is none of its form looks like one row. */
export const largestRow = 1024 * 1024

export function rowTooLarge(name: string, line: number): Failure {
  return new Failure('refused', `${name} has a row at line ${line} that is longer than 1 MiB`, {
    hint: 'Is it a file of rows, and does every quote and bracket close?',
  })
}
