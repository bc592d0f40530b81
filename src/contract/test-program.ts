/** The model ID of the built-in test program of the embedded service. No model server has it. */
export const testProgramModel = 'offline'
