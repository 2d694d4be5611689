/** An error for the operator. Its message is one sentence, which is printed without a stack trace. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

/** The options of a command are wrong. */
export class UsageError extends AdminError {}
