import { failing, json, type RecordedRequest, startScriptedServer } from '../support/scripted-server.ts'

export const token = 'ghs_test'
const tokenUser = 'github-actions[bot]'

/** The part of GitHub Enterprise Server that the action uses for a comment, on loopback. */
export async function startGitHub() {
  /** With IDs of more than 32 bits, as on GitHub. */
  const comments: { id: number; user: { login: string }; body: string }[] = []
  const state = { comments, written: [] as string[], isReadOnly: false }
  const add = (body: string, login = tokenUser) =>
    comments[comments.push({ id: 3e9 + comments.length, user: { login }, body }) - 1]
  const choose = ({ method, path, headers, body }: RecordedRequest) => {
    if (headers.authorization !== `Bearer ${token}`) return failing(401, 'x', 'Bad credentials')
    if (path === '/api/graphql') return json(200, { data: { viewer: { login: tokenUser } } })
    const below = path.replace('/api/v3/repos/acme/app/issues/', '')
    const page = Number(/^7\/comments\?per_page=100&page=(\d+)$/.exec(below)?.[1])
    if (method === 'GET' && page) return json(200, comments.slice(100 * page - 100, 100 * page))
    if (state.isReadOnly) return json(403, { message: 'Resource not accessible by integration' })
    state.written.push(`${method} ${below}`)
    const sent = JSON.parse(body)
    if (method === 'POST' && below === '7/comments') return json(201, add(sent.body))
    const found = comments.find(({ id }) => method === 'PATCH' && below === `comments/${id}`)
    return found ? json(200, Object.assign(found, sent)) : failing(404, 'x', 'Not Found')
  }
  return Object.assign(state, { add, close: async () => {}, url: '' }, await startScriptedServer({ choose }))
}
