import { type AccountRequest, AppError, type FieldError, maxAccountsOfRun, checkVariableName } from '@muster/contracts';

/**
 * Returns the accounts that a run gets: the requested ones and those of its workflow. Throws if two have the same pool
 * or the same name, unless they are equal.
 */
export function resolveAccounts({
  requested,
  workflowAccounts = [],
}: {
  requested: readonly AccountRequest[];
  workflowAccounts?: readonly AccountRequest[] | null;
}): AccountRequest[] {
  const errors: FieldError[] = [];
  const accounts: AccountRequest[] = [];
  // The accounts of the workflow are checked first, so that an error refers to the field of the request and not to the
  // workflow.
  const all = [
    ...(workflowAccounts ?? []).map(({ pool, as }) => ({ pool, as, at: null })),
    ...requested.map(({ pool, as }, at) => ({ pool, as, at })),
  ];
  for (const { pool, as, at } of all) {
    const add = (name: 'pool' | 'as', message: string) =>
      errors.push({ field: at === null ? 'workflowId' : `accounts.${at}.${name}`, message });
    const refused = checkVariableName(as) ?? checkVariableName(`${as}_`);
    const same = accounts.find((each) => each.pool === pool || each.as === as);
    if (refused) add('as', refused);
    else if (same && at !== null && same.pool === pool && same.as === as && isAccountOfWorkflow(same, workflowAccounts))
      continue;
    else if (same?.pool === pool) add('pool', `a run gets only one account of the pool ${pool}`);
    else if (same) add('as', `two accounts have the name ${as}`);
    else accounts.push({ pool, as });
  }
  if (accounts.length > maxAccountsOfRun) {
    const message = `a run can have at most ${maxAccountsOfRun} accounts, including those of its workflow`;
    errors.push({ field: 'accounts', message });
  }
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
  return accounts;
}

function isAccountOfWorkflow({ pool, as }: AccountRequest, accounts: readonly AccountRequest[] | null): boolean {
  return (accounts ?? []).some((each) => each.pool === pool && each.as === as);
}
