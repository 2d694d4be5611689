/** What went wrong, in the one sentence that the operator reads. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}
