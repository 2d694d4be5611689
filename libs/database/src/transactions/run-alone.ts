/** Thrown by a work in a shared transaction that needs a separate transaction. The work then runs again in one. */
export class RunAlone extends Error {
  /** `isUnchanged`: the statements that the work has sent changed no row, so the other works can continue. */
  constructor(readonly isUnchanged = false) {
    super('this work does not run in a shared transaction');
  }
}
