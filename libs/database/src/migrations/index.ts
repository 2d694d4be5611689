import { AccessAndPlumbing1763690000000 } from './1763690000000-access-and-plumbing';
import { AgentsAndJobs1763700000000 } from './1763700000000-agents-and-jobs';
import { Timeline1763700000001 } from './1763700000001-timeline';
import { AgentControl1763710000000 } from './1763710000000-agent-control';
import { Schedules1763720000000 } from './1763720000000-schedules';
import { IdleAndWatchdog1763730000000 } from './1763730000000-idle-and-watchdog';
import { MachineFindings1763740000000 } from './1763740000000-machine-findings';
import { Batches1763750000000 } from './1763750000000-batches';
import { Recordings1763760000000 } from './1763760000000-recordings';
import { BatchCancel1763770000000 } from './1763770000000-batch-cancel';
import { SignInAddresses1763781000000 } from './1763781000000-sign-in-addresses';
import { CommandTraces1763781000001 } from './1763781000001-command-traces';
import { WhereMachinesAre1763783000000 } from './1763783000000-where-machines-are';
import { RecordedBrowsers1763784000000 } from './1763784000000-recorded-browsers';
import { MachineOrders1763785000000 } from './1763785000000-machine-orders';
import { AgentRecovery1763785000001 } from './1763785000001-agent-recovery';
import { ClaimsByNpi1763786000000 } from './1763786000000-claims-by-npi';
import { DispatchTurns1763786000001 } from './1763786000001-dispatch-turns';
import { RunsByStart1763786000002 } from './1763786000002-runs-by-start';
import { LoopRuns1763786000003 } from './1763786000003-loop-runs';
import { OutboxWords1763790000000 } from './1763790000000-outbox-words';
import { Money1763791000000 } from './1763791000000-money';
import { ModelPrices1763791000001 } from './1763791000001-model-prices';
import { UsageReconciliation1763791000002 } from './1763791000002-usage-reconciliation';
import { PilotRecords1763792000000 } from './1763792000000-pilot-records';
import { CostsOfSummaries1763792000001 } from './1763792000001-costs-of-summaries';
import { ClientPricing1763793000000 } from './1763793000000-client-pricing';
import { DeletedJobs1763793000001 } from './1763793000001-deleted-jobs';
import { RoiRollups1763793000002 } from './1763793000002-roi-rollups';
import { Retention1763793000003 } from './1763793000003-retention';
import { Budgets1763794000000 } from './1763794000000-budgets';
import { DefaultPricesAreRead1763794000001 } from './1763794000001-default-prices-are-read';
import { UncountedRuns1763800000001 } from './1763800000001-uncounted-runs';
import { ListsByIndex1763802000000 } from './1763802000000-lists-by-index';
import { CostRollups1763802000001 } from './1763802000001-cost-rollups';
import { LastLaunches1763802000002 } from './1763802000002-last-launches';
import { PurgeByIndex1763802050000 } from './1763802050000-purge-by-index';
import { Prewake1763803000000 } from './1763803000000-prewake';
import { IdleTimes1763803000001 } from './1763803000001-idle-times';
import { WorkflowPacks1763805000000 } from './1763805000000-workflow-packs';
import { Feedback1763807000000 } from './1763807000000-feedback';
import { FeedbackCarried1763807000001 } from './1763807000001-feedback-carried';
import { FeedbackByIndex1763807050000 } from './1763807050000-feedback-by-index';
import { FeedbackFences1763807050001 } from './1763807050001-feedback-fences';
import { ImagingPictures1763810000000 } from './1763810000000-imaging-pictures';
import { ModelCalls1763812000000 } from './1763812000000-model-calls';
import { FeedbackByModel1763812000001 } from './1763812000001-feedback-by-model';
import { VideoAnalyses1763812000002 } from './1763812000002-video-analyses';
import { Chat1763813000000 } from './1763813000000-chat';
import { Autopilot1763814000000 } from './1763814000000-autopilot';
import { OwnDeadLetters1763820000000 } from './1763820000000-own-dead-letters';
import { SortedRuns1763820000001 } from './1763820000001-sorted-runs';
import { OrganizationEvents1763820000002 } from './1763820000002-organization-events';
import { BatchesBySize1763820000003 } from './1763820000003-batches-by-size';
import { SessionFaults1763820000100 } from './1763820000100-session-faults';
import { AssistantRetention1763820000101 } from './1763820000101-assistant-retention';
import { FilmAnswers1763820000102 } from './1763820000102-film-answers';
import { Webhooks1763820000200 } from './1763820000200-webhooks';
import { CostMonths1763820000400 } from './1763820000400-cost-months';
import { AutopilotByOrganization1763822900000 } from './1763822900000-autopilot-by-organization';
import { FeedbackByReference1763824000000 } from './1763824000000-feedback-by-reference';
import { LimitNotices1763828000000 } from './1763828000000-limit-notices';
import { AskedDeliveries1763828000001 } from './1763828000001-asked-deliveries';
import { TextInAnyCase1763829100000 } from './1763829100000-text-in-any-case';
import { IdleTimesOfNoLength1763829150000 } from './1763829150000-idle-times-of-no-length';
import { FactsThatRest1763829300000 } from './1763829300000-facts-that-rest';
import { IncompleteRuns1763829400000 } from './1763829400000-incomplete-runs';
import { OneClock1763829500000 } from './1763829500000-one-clock';
import { AgentCapabilities1763829600000 } from './1763829600000-agent-capabilities';
import { Questions1763830290000 } from './1763830290000-questions';
import { HotTables1763830300000 } from './1763830300000-hot-tables';
import { SessionsThatEnd1763831000000 } from './1763831000000-sessions-that-end';
import { CodesThatNeedNobody1763831000100 } from './1763831000100-codes-that-need-nobody';
import { KeysWithBounds1763831000110 } from './1763831000110-keys-with-bounds';
import { SecondFactor1763831000200 } from './1763831000200-second-factor';
import { Passkeys1763831000300 } from './1763831000300-passkeys';
import { RecoveryHold1763831000400 } from './1763831000400-recovery-hold';
import { ConcurrencyKeys1763832000000 } from './1763832000000-concurrency-keys';
import { ConcurrencyLimits1763832000200 } from './1763832000200-concurrency-limits';
import { AccessLog1763833600000 } from './1763833600000-access-log';
import { BatchReporter1763834000000 } from './1763834000000-batch-reporter';
import { BriefPartitionLocks1763834000100 } from './1763834000100-brief-partition-locks';
import { Accounts1763834000150 } from './1763834000150-accounts';
import { AuditChain1763834000200 } from './1763834000200-audit-chain';
import { EntriesByDay1763834000201 } from './1763834000201-entries-by-day';
import { AccountLinks1763834000300 } from './1763834000300-account-links';
import { Alerts1763835000000 } from './1763835000000-alerts';
import { Placement1763835000100 } from './1763835000100-placement';
import { UnplacedJobs1763835000101 } from './1763835000101-unplaced-jobs';
import { AlertFilters1763836200100 } from './1763836200100-alert-filters';
import { Takeover1763836200101 } from './1763836200101-takeover';
import { DeletedOrganizations1763836600000 } from './1763836600000-deleted-organizations';
import { RowsUpdatedInPlace1763836600100 } from './1763836600100-rows-updated-in-place';
import { OwnRoles1763837000100 } from './1763837000100-own-roles';
import { QuestionAnswerers1763837200100 } from './1763837200100-question-answerers';
import { WaitingOutOfRoi1763837200200 } from './1763837200200-waiting-out-of-roi';
import { PausesAsQuestions1763837300100 } from './1763837300100-pauses-as-questions';
import { DeviceLogins1763833100000 } from './1763833100000-device-logins';
import { ScheduleKeys1763833300000 } from './1763833300000-schedule-keys';
import { NotificationChannels1763833400000 } from './1763833400000-notification-channels';
import { DeliveriesByRecipient1763833400001 } from './1763833400001-deliveries-by-recipient';
import { DeliveryStatuses1763833400002 } from './1763833400002-delivery-statuses';
import { SingleSignOn1763837100100 } from './1763837100100-single-sign-on';
import { OneBreakGlass1763837100101 } from './1763837100101-one-break-glass';
import { Scim1763837500100 } from './1763837500100-scim';
import { SealedValues1763837500200 } from './1763837500200-sealed-values';
import { KeysWithinOrganizations1763838100100 } from './1763838100100-keys-within-organizations';
import { RequiredFactors1763838300100 } from './1763838300100-required-factors';
import { SsoLinks1763838300200 } from './1763838300200-sso-links';
import { RenewedSessionTokens1763838300300 } from './1763838300300-renewed-session-tokens';

/** All migrations in the order in which they run, oldest first. */
export const migrations = [
  AccessAndPlumbing1763690000000,
  AgentsAndJobs1763700000000,
  Timeline1763700000001,
  AgentControl1763710000000,
  Schedules1763720000000,
  IdleAndWatchdog1763730000000,
  MachineFindings1763740000000,
  Batches1763750000000,
  Recordings1763760000000,
  BatchCancel1763770000000,
  SignInAddresses1763781000000,
  CommandTraces1763781000001,
  WhereMachinesAre1763783000000,
  RecordedBrowsers1763784000000,
  MachineOrders1763785000000,
  AgentRecovery1763785000001,
  ClaimsByNpi1763786000000,
  DispatchTurns1763786000001,
  RunsByStart1763786000002,
  LoopRuns1763786000003,
  OutboxWords1763790000000,
  Money1763791000000,
  ModelPrices1763791000001,
  UsageReconciliation1763791000002,
  PilotRecords1763792000000,
  CostsOfSummaries1763792000001,
  ClientPricing1763793000000,
  DeletedJobs1763793000001,
  RoiRollups1763793000002,
  Retention1763793000003,
  Budgets1763794000000,
  DefaultPricesAreRead1763794000001,
  UncountedRuns1763800000001,
  ListsByIndex1763802000000,
  CostRollups1763802000001,
  LastLaunches1763802000002,
  PurgeByIndex1763802050000,
  Prewake1763803000000,
  IdleTimes1763803000001,
  WorkflowPacks1763805000000,
  Feedback1763807000000,
  FeedbackCarried1763807000001,
  FeedbackByIndex1763807050000,
  FeedbackFences1763807050001,
  ImagingPictures1763810000000,
  ModelCalls1763812000000,
  FeedbackByModel1763812000001,
  VideoAnalyses1763812000002,
  Chat1763813000000,
  Autopilot1763814000000,
  OwnDeadLetters1763820000000,
  SortedRuns1763820000001,
  OrganizationEvents1763820000002,
  BatchesBySize1763820000003,
  SessionFaults1763820000100,
  AssistantRetention1763820000101,
  FilmAnswers1763820000102,
  Webhooks1763820000200,
  CostMonths1763820000400,
  AutopilotByOrganization1763822900000,
  FeedbackByReference1763824000000,
  LimitNotices1763828000000,
  AskedDeliveries1763828000001,
  TextInAnyCase1763829100000,
  IdleTimesOfNoLength1763829150000,
  FactsThatRest1763829300000,
  IncompleteRuns1763829400000,
  OneClock1763829500000,
  AgentCapabilities1763829600000,
  Questions1763830290000,
  HotTables1763830300000,
  SessionsThatEnd1763831000000,
  CodesThatNeedNobody1763831000100,
  KeysWithBounds1763831000110,
  SecondFactor1763831000200,
  Passkeys1763831000300,
  RecoveryHold1763831000400,
  ConcurrencyKeys1763832000000,
  ConcurrencyLimits1763832000200,
  DeviceLogins1763833100000,
  ScheduleKeys1763833300000,
  NotificationChannels1763833400000,
  DeliveriesByRecipient1763833400001,
  DeliveryStatuses1763833400002,
  AccessLog1763833600000,
  BatchReporter1763834000000,
  BriefPartitionLocks1763834000100,
  Accounts1763834000150,
  AuditChain1763834000200,
  EntriesByDay1763834000201,
  AccountLinks1763834000300,
  Alerts1763835000000,
  Placement1763835000100,
  UnplacedJobs1763835000101,
  AlertFilters1763836200100,
  Takeover1763836200101,
  DeletedOrganizations1763836600000,
  RowsUpdatedInPlace1763836600100,
  OwnRoles1763837000100,
  SingleSignOn1763837100100,
  OneBreakGlass1763837100101,
  QuestionAnswerers1763837200100,
  WaitingOutOfRoi1763837200200,
  PausesAsQuestions1763837300100,
  Scim1763837500100,
  SealedValues1763837500200,
  KeysWithinOrganizations1763838100100,
  RequiredFactors1763838300100,
  SsoLinks1763838300200,
  RenewedSessionTokens1763838300300,
];
