/** Thrown by a work in a shared transaction that needs a separate transaction. The work then runs again in one. */
export class RunAlone extends Error {
  constructor() {
    super('this work does not run in a shared transaction');
  }
}
