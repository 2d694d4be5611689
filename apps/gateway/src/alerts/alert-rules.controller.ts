import { Body, Controller, Get, Inject, Param, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  allowSessionsAndKeys,
  allowSessions,
} from '@muster/access';
import { listAlertRules, setAlertRule } from '@muster/alerts';
import { AlertRule, AlertRuleList, SetAlertRuleBody } from '@muster/contracts';
import { Database } from '@muster/database';

@ApiTags('Alerts')
@Controller('/api/alert-rules')
export class AlertRulesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List alert rules',
    description:
      'An alert rule is a condition under which an alert opens. Every organization has the same rules. Each rule is ' +
      'off until an admin turns it on.',
    access: allowSessionsAndKeys('alerts.read'),
    answer: AlertRuleList,
  })
  async list(@OrganizationId() organizationId: string): Promise<AlertRuleList> {
    return { alertRules: await listAlertRules(this.database, organizationId) };
  }

  @Put('/:rule')
  @Endpoint({
    summary: 'Set an alert rule',
    description:
      'Replaces the settings of the rule; absent options get their defaults. Each rule accepts only its own ' +
      'options: run_failed `when` and `times`, run_waiting and question_expiring `minutes`, ' +
      'machine_on_without_reason `hours`, spend `percent`. An alert that opens is sent to the channels of its rule.',
    access: allowSessions('settings.admin'),
    body: SetAlertRuleBody,
    answer: AlertRule,
    errors: ['not_found'],
  })
  set(
    @Mutation() mutation: MutationRequest,
    @Param('rule') rule: string,
    @Body() body: SetAlertRuleBody,
  ): Promise<AlertRule> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: await setAlertRule(tx, caller, rule, body),
    }));
  }
}
