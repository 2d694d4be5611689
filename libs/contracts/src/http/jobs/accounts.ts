import {
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  ListField,
  ObjectField,
  TextField,
  TextMapField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import { IgnoreUnknownFields } from '../unknown-fields';

const poolName = { max: 100, visible: true, example: 'delta-dental' };
const accountName = { max: 100, visible: true, example: 'delta-dental-1' };

export class AccountRequest {
  @TextField({ ...poolName, description: 'Pool from which the run gets one free account.' }) pool!: string;
  @TextField({
    max: 100,
    example: 'PORTAL',
    description:
      'First part of the names of the environment variables in which the script finds the account, such as PORTAL ' +
      'for PORTAL_USERNAME and PORTAL_PASSWORD.',
  })
  as!: string;
}

/** Maximum number of accounts that one run gets, including those that its workflow requests. */
export const maxAccountsOfRun = 3;

/** Options of a list of accounts that runs request. */
export const requestedAccounts = {
  maxItems: maxAccountsOfRun,
  description:
    'Accounts (logins at portals) that each run borrows when it starts: from each pool, the free account that was ' +
    'unused longest. The run waits until every pool has a free account, and keeps the accounts until it ends. A ' +
    'retry waits for accounts again.',
};

const vaultKeys = {
  maxKeys: 20,
  max: 128,
  example: { username: 'PORTAL_USERNAME', password: 'PORTAL_PASSWORD' },
  description:
    'Vault secrets of the account: an object from the name that scripts use to the name of the vault secret. If a ' +
    'run requests the account with `as: "PORTAL"`, its script finds the value for the name `password` in the ' +
    'environment variable PORTAL_PASSWORD.',
};
const limit = {
  min: 1,
  max: 1000,
  example: 1,
  description: 'Maximum number of runs that can use the account at the same time.',
};
const cooldownSeconds = {
  max: 86_400,
  example: 60,
  description: 'Seconds for which no other run gets the account after a run that used it has ended.',
};
const enabled = { example: true, description: 'Whether runs can use the account.' };

export class PutAccountBody {
  @TextMapField(vaultKeys) vaultKeys!: Record<string, string>;
  @TextField(poolName) pool!: string;
  @IntField({ ...limit, optional: true }) limit?: number;
  @IntField({ ...cooldownSeconds, optional: true }) cooldownSeconds?: number;
  @BooleanField({ ...enabled, optional: true }) enabled?: boolean;
}

/** Changes of an account. Absent fields stay unchanged. */
export class UpdateAccountBody {
  @TextMapField({ ...vaultKeys, optional: true }) vaultKeys?: Record<string, string>;
  @TextField({ ...poolName, optional: true }) pool?: string;
  @IntField({ ...limit, optional: true }) limit?: number;
  @IntField({ ...cooldownSeconds, optional: true }) cooldownSeconds?: number;
  @BooleanField({
    ...enabled,
    optional: true,
    description: 'Whether runs can use the account. With true, an account that was set aside is put back.',
  })
  enabled?: boolean;
}

const accountStatuses = ['free', 'busy', 'resting', 'set_aside', 'disabled'] as const;
export type AccountStatus = (typeof accountStatuses)[number];

const accountFailures = ['locked', 'expired', 'other'] as const;
export type AccountFailure = (typeof accountFailures)[number];

const failureMessage = { nullable: true, max: 2000, example: 'The portal says that the account is locked.' };

export class AccountSetAside {
  @EnumField(accountFailures) reason!: AccountFailure;
  @TextField(failureMessage) message!: string | null;
  @DateTimeField() since!: string;
  @UuidField({ description: 'Run that reported the failure.' }) jobId!: string;
}

export class Account {
  @TextField(accountName) name!: string;
  @TextField(poolName) pool!: string;
  @TextMapField(vaultKeys) vaultKeys!: Record<string, string>;
  @IntField(limit) limit!: number;
  @IntField(cooldownSeconds) cooldownSeconds!: number;
  @BooleanField(enabled) enabled!: boolean;
  @EnumField(accountStatuses, {
    description:
      'busy: the account is used by as many runs as its limit allows. resting: a run that used the account ended ' +
      'less than cooldownSeconds ago. set_aside: a run reported that the account cannot be used. No run gets it ' +
      'until an admin enables it or saves a new secret for it.',
  })
  status!: AccountStatus;
  @ObjectField(() => AccountSetAside, { nullable: true }) setAside!: AccountSetAside | null;
}

export class AccountList {
  @ListField(() => Account) accounts!: Account[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class AccountQuery extends PageQuery {
  @TextField({ ...poolName, optional: true, description: 'Name of a pool.' }) pool?: string;
}

export class AccountUse {
  @UuidField() jobId!: string;
  @UuidField() agentId!: string;
  @DateTimeField() from!: string;
  @DateTimeField({
    nullable: true,
    description: 'Time at which the run ended and released the account; null while the run uses it.',
  })
  to!: string | null;
}

export class AccountUseList {
  @ListField(() => AccountUse) uses!: AccountUse[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

@IgnoreUnknownFields()
export class FailAccountBody {
  @EnumField(accountFailures) reason!: AccountFailure;
  @TextField({ ...failureMessage, min: 0, optional: true }) message?: string | null;
}
