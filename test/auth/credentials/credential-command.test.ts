import { expect } from 'chai'
import { readCommandOutput } from '../../../src/auth/credentials/credential-command.ts'

const now = Date.parse('2026-03-01T12:00:00Z')
const obtained_at = '2026-03-01T12:00:00.000Z'
const read = (text: string) => readCommandOutput(Buffer.from(text), now)
const faultOf = (bytes: Uint8Array): string => {
  try {
    readCommandOutput(bytes, now)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('the output of a credential command', () => {
  it('is the credential, without the spaces around it', () => {
    for (const text of ['sk-1', 'sk-1\n', '\r\n sk-1 \r\n\n', '\ufeffsk-1'])
      expect(read(text), JSON.stringify(text)).to.deep.equal({ secret: 'sk-1', kind: null, obtained_at })
  })

  it('may be a JSON object that names its kind and its end', () => {
    const rows: [value: object, kind: string | null, expires_at?: string][] = [
      [{ api_key: ' sk-1 ' }, 'api_key'],
      [{ access_token: 'sk-1', token_type: 'Bearer' }, 'oauth'],
      [{ token: 'sk-1', expires_at: null }, null],
      [{ token: 'sk-1', expires_at: '2026-03-01T13:00:00Z' }, null, '2026-03-01T13:00:00.000Z'],
      [{ token: 'sk-1', expiration: '2026-03-01 15:00:00.5+0200' }, null, '2026-03-01T13:00:00.500Z'],
      [{ token: 'sk-1', expires_at: now / 1_000 + 60 }, null, '2026-03-01T12:01:00.000Z'],
      [{ token: 'sk-1', expires_in: '60' }, null, '2026-03-01T12:01:00.000Z'],
      [{ token: 'sk-1', expires_at: now + 60_000 }, null, '2026-03-01T12:01:00.000Z'],
      [{ token: 'sk-1', expires_in: 1e300 }, null, '9999-01-01T00:00:00.000Z'],
    ]
    for (const [value, kind, expires_at] of rows) {
      const text = JSON.stringify(value, null, 2)
      expect(read(text), text).to.deep.equal({
        secret: 'sk-1',
        obtained_at,
        kind,
        ...(expires_at && { expires_at }),
      })
    }
  })

  it('has no end if its time is in the past, because a clock may be wrong', () => {
    for (const end of [{ expires_at: '2026-03-01T11:00:00Z' }, { expires_in: 0 }, { expires_in: -5 }])
      expect(read(JSON.stringify({ token: 'sk-1', ...end }))).not.to.have.property('expires_at')
  })

  it('is refused without a word of it if it is not a credential', () => {
    const invalidHeader = 'wrote a space, or characters that no HTTP header can contain'
    const object = 'wrote a JSON object'
    const rows: [string | Uint8Array, string][] = [
      ['', 'wrote nothing'],
      [' \n\n', 'wrote nothing'],
      ['hidden\nsecond', 'wrote more than one line'],
      ['{"token":"hidden\\nsecond"}', 'wrote more than one line'],
      ['hidden\u001b[2J', invalidHeader],
      ['hidden\rsecond', invalidHeader],
      ['hidden€', invalidHeader],
      ['hidden key', invalidHeader],
      ['['.repeat(30_000), 'wrote 30000 characters, and a credential has at most 8192'],
      [Uint8Array.of(0xff, 0xfe), 'wrote bytes that are not UTF-8'],
      ['{"token":"hidden"', 'wrote an invalid JSON object'],
      ['{"token":"hidden"}{}', 'wrote an invalid JSON object'],
      ['{"password":"hidden"}', `${object} without exactly one of api_key, access_token, and token`],
      [
        '{"token":"hidden","api_key":"x"}',
        `${object} without exactly one of api_key, access_token, and token`,
      ],
      ['{"token":{"value":"hidden"}}', `${object} in which token is not a text`],
      ['{"token":" "}', `${object} in which token is not a text`],
      ['{"token":"hidden","expires_at":"soon"}', `${object} in which expires_at is not a time`],
      ['{"token":"hidden","expires_at":"2026-03-01"}', `${object} in which expires_at is not a time`],
      [
        '{"token":"hidden","expiration":"2026-13-41T00:00:00Z"}',
        `${object} in which expiration is not a time`,
      ],
      ['{"token":"hidden","expires_in":{}}', `${object} in which expires_in is not a time`],
    ]
    for (const [text, fault] of rows) expect(faultOf(Buffer.from(text)), String(text)).to.equal(fault)
  })
})
