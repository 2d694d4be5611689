/** Thrown by work in a shared transaction that must have its own; it runs again in one. */
export class RunAlone extends Error {
  constructor() {
    super('this work does not run in a shared transaction');
  }
}
