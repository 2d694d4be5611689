import {
  authLogout,
  authMe,
  costsCosts,
  type CostsCostsData,
  costsExport,
  processLibraryList,
  processLibraryPut,
  type PutProcessBody,
  type Secret,
  type SecretList,
  usageRead,
  vaultDelete,
  vaultList,
  vaultPut,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

/** Costs of runs. */
export class Costs extends Resource {
  get(query: NonNullable<CostsCostsData['query']> = {}, call?: CallOptions) {
    return costsCosts({ ...this.with(call), query });
  }

  /** Returns the costs as CSV. */
  export(query: NonNullable<CostsCostsData['query']> = {}, call?: CallOptions): Promise<string> {
    return costsExport({ ...this.with(call), query, parseAs: 'text' }) as Promise<string>;
  }
}

/** Usage and limits of a month. */
export class Usage extends Resource {
  get(month?: string, call?: CallOptions) {
    return usageRead({ ...this.with(call), query: month === undefined ? {} : { month } });
  }
}

/** Secrets for use by runs. The API never returns their values. Requires an admin's session. */
export class Secrets extends Resource {
  list(call?: CallOptions): List<Secret, SecretList> {
    return new List(
      (page) => vaultList({ ...this.with(call), query: page }),
      ({ secrets }) => secrets,
    );
  }

  set(key: string, value: string, call?: CallOptions) {
    return vaultPut({ ...this.with(call), path: { key }, body: { value } });
  }

  delete(key: string, call?: CallOptions) {
    return vaultDelete({ ...this.with(call), path: { key } });
  }
}

/** The process library. Each pack belongs to one of its processes. */
export class Processes extends Resource {
  list(call?: CallOptions) {
    return new List(
      (page) => processLibraryList({ ...this.with(call), query: page }),
      ({ processes }) => processes,
    );
  }

  /** Creates or replaces a process. Requires an admin's session. */
  put(workerKey: string, body: PutProcessBody, call?: CallOptions) {
    return processLibraryPut({ ...this.with(call), path: { workerKey }, body });
  }
}

/** The signed-in user. */
export class Session extends Resource {
  me(call?: CallOptions) {
    return authMe(this.with(call));
  }

  signOut(call?: CallOptions) {
    return authLogout(this.with(call));
  }
}
