/**
 * What an executable for Linux needs from the system, on x64 and arm64. Its Node determines these versions;
 * the native add-ons need less. test/scripts/system-requirements.test.ts compares them with the binary.
 */
export const systemRequirements = {
  /** Debian 10, Ubuntu 20.04, and RHEL 8 have it. musl does not replace it. */
  glibc: '2.28',
  /** The newest version in libstdc++ that the executables use. */
  cxxAbi: '1.3.11',
  /** The oldest version of Debian's package libstdc++6 that has it. */
  libstdcxx: '7',
}
