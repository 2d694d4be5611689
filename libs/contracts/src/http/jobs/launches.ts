import { BooleanField, ListField, ObjectField, UuidField } from '../fields';
import { AccountRequest, requestedAccounts } from './accounts';
import { ConcurrencyKey } from './concurrency-keys';
import { RunOptions } from './jobs';
import { RunTarget } from './targets';

export class LaunchJobBody extends RunOptions {
  @UuidField() workflowId!: string;
  @UuidField({ optional: true, description: 'Agent that runs the job. Specify either agentId or target.' })
  agentId?: string;
  @ObjectField(() => RunTarget, {
    optional: true,
    description: 'Requirements for the agent of the run: the dispatcher chooses any agent that has all of the labels.',
  })
  target?: RunTarget;
  @BooleanField({
    optional: true,
    example: false,
    description:
      'Whether a retry of a run with a target uses the same agent as the failed attempt. If false or absent, the ' +
      'dispatcher chooses an agent for each retry.',
  })
  retrySameAgent?: boolean;

  @ListField(() => ConcurrencyKey, {
    optional: true,
    maxItems: 5,
    description:
      'Concurrency keys that the run requires, in addition to those of its workflow. The run starts when every key ' +
      'is below its limit, and holds the keys until it ends. A retry waits for the keys again.',
  })
  concurrencyKeys?: ConcurrencyKey[];

  @ListField(() => AccountRequest, {
    ...requestedAccounts,
    optional: true,
    description: `${requestedAccounts.description} The accounts are in addition to those of the workflow.`,
  })
  accounts?: AccountRequest[];
}
