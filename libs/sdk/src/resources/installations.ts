import {
  type CreateInstallationBody,
  installationsCreate,
  installationsHistory,
  installationsList,
  installationsPin,
  installationsRead,
  installationsRollBack,
  installationsUpdate,
  type PackInstallation,
  type PackInstallationList,
  type PinBody,
  type UpdateInstallationBody,
} from '../generated';
import { List } from '../list';
import { type CallOptions, Resource } from '../resource';

/** Installations, which pin a version of a pack. Require a session. */
export class Installations extends Resource {
  list(
    query: { packId?: string; limit?: number } = {},
    call?: CallOptions,
  ): List<PackInstallation, PackInstallationList> {
    return new List(
      (page) => installationsList({ ...this.with(call), query: { ...query, ...page } }),
      ({ installations }) => installations,
    );
  }

  create(body: CreateInstallationBody, call?: CallOptions) {
    return installationsCreate({ ...this.with(call), body });
  }

  get(id: string, call?: CallOptions) {
    return installationsRead({ ...this.with(call), path: { id } });
  }

  update(id: string, body: UpdateInstallationBody, call?: CallOptions) {
    return installationsUpdate({ ...this.with(call), path: { id }, body });
  }

  pin(id: string, body: PinBody, call?: CallOptions) {
    return installationsPin({ ...this.with(call), path: { id }, body });
  }

  /** Pins the version that was pinned before. */
  rollback(id: string, reason?: string, call?: CallOptions) {
    return installationsRollBack({ ...this.with(call), path: { id }, body: reason === undefined ? {} : { reason } });
  }

  history(id: string, call?: CallOptions) {
    return new List(
      (page) => installationsHistory({ ...this.with(call), path: { id }, query: page }),
      ({ history }) => history,
    );
  }
}
