import {
  type Account,
  type AccountList,
  accountsDelete,
  accountsList,
  accountsPut,
  accountsUpdate,
  accountsUses,
  type AccountUse,
  type AccountUseList,
  type PutAccountBody,
  type UpdateAccountBody,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

/** Accounts that runs borrow from pools. A change requires an admin's session. */
export class Accounts extends Resource {
  list(query: { pool?: string } = {}, call?: CallOptions): List<Account, AccountList> {
    return new List(
      (page) => accountsList({ ...this.with(call), query: { ...query, ...page } }),
      ({ accounts }) => accounts,
    );
  }

  /** Creates or replaces an account. */
  put(name: string, body: PutAccountBody, call?: CallOptions) {
    return accountsPut({ ...this.with(call), path: { name }, body });
  }

  /** Changes an account. With `enabled: true`, an account that was set aside is put back. */
  update(name: string, body: UpdateAccountBody, call?: CallOptions) {
    return accountsUpdate({ ...this.with(call), path: { name }, body });
  }

  delete(name: string, call?: CallOptions) {
    return accountsDelete({ ...this.with(call), path: { name } });
  }

  /** Returns the runs that have or had the account, newest first. */
  uses(name: string, call?: CallOptions): List<AccountUse, AccountUseList> {
    return new List(
      (page) => accountsUses({ ...this.with(call), path: { name }, query: page }),
      ({ uses }) => uses,
    );
  }
}
