import { expect } from 'chai'
import { StorageUnavailable, storageFailure } from '../../../src/service/store/storage-failure.ts'

describe('a failure of TLS to PostgreSQL', () => {
  const noTls = 'The server does not support SSL connections'
  for (const [code, words, shown] of [
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed; try --use-system-ca', 'the certificate is self-signed'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'try --use-system-ca', 'the certificate authority is not trusted'],
    [undefined, noTls, noTls],
  ] as const)
    it(`has the words of chatctl, and a hint that works: ${code ?? words}`, () => {
      const cause = Object.assign(new Error(words), code && { code })
      const failure = storageFailure(new StorageUnavailable(words, { cause }), '', 'database "x"')
      expect(failure).to.include({
        kind: 'tls',
        message: `No encrypted connection to database "x": ${shown}`,
      })
      expect(failure).to.have.property('hint').that.includes('sslrootcert')
    })
})
