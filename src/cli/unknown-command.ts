import { Failure } from '../failure.ts'
import { nearest } from './nearest.ts'

/**
 * @param words what stands before the first flag on the command line
 * @param ids every command, `settings:api:set`
 */
export function unknownCommand(words: readonly string[], ids: readonly string[]): Failure {
  const paths = ids.map((id) => id.split(':'))
  let depth = 0
  while (depth < words.length && paths.some((path) => startsWith(path, words.slice(0, depth + 1)))) depth++
  const known = words.slice(0, depth)
  const wrong = words[depth] ?? ''
  const choices = new Set(
    paths.filter((path) => startsWith(path, known)).flatMap((path) => path.slice(depth, depth + 1)),
  )
  const meant = nearest(wrong, [...choices])
  const typed = ['chatctl', ...known].join(' ')
  return new Failure('usage', `Unknown command: ${typed} ${wrong}`, {
    hint: meant ? `Did you mean: ${typed} ${meant}` : `${typed} --help`,
  })
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((word, index) => path[index] === word)
}
