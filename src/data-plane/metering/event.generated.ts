/** Reads and writes MeteringEvent in protobuf: generated from event.proto by `npm run build:meter`, never edited by hand. */
// @ts-nocheck
import $protobuf from "protobufjs/minimal.js";

const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

const $root = $protobuf.roots["metering"] || ($protobuf.roots["metering"] = {});

export const toolgate = $root.toolgate = (() => {

    const toolgate = {};

    toolgate.metering = (function() {

        const metering = {};

        metering.v1 = (function() {

            const v1 = {};

            v1.Access = (function() {
                const valuesById = $Object.create(null), values = $Object.create(valuesById);
                values[valuesById[0] = "ACCESS_UNSPECIFIED"] = 0;
                values[valuesById[1] = "REST"] = 1;
                values[valuesById[2] = "JSONRPC"] = 2;
                values[valuesById[3] = "PROXY"] = 3;
                return values;
            })();

            v1.Outcome = (function() {
                const valuesById = $Object.create(null), values = $Object.create(valuesById);
                values[valuesById[0] = "OUTCOME_UNSPECIFIED"] = 0;
                values[valuesById[1] = "SUCCESS"] = 1;
                values[valuesById[2] = "BACKEND_ERROR"] = 2;
                values[valuesById[3] = "BACKEND_UNREACHABLE"] = 3;
                values[valuesById[4] = "TIMEOUT"] = 4;
                values[valuesById[5] = "DENIED"] = 5;
                values[valuesById[6] = "RATE_LIMITED"] = 6;
                values[valuesById[7] = "NOT_FOUND"] = 7;
                values[valuesById[8] = "INVALID"] = 8;
                return values;
            })();

            v1.MeteringEvent = (function() {

                const MeteringEvent = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                MeteringEvent.prototype.event_id = "";
                MeteringEvent.prototype.occurred_at = null;
                MeteringEvent.prototype.sequence = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
                MeteringEvent.prototype.request_id = "";
                MeteringEvent.prototype.tenant_id = "";
                MeteringEvent.prototype.consumer_id = "";
                MeteringEvent.prototype.subscription_id = "";
                MeteringEvent.prototype.api_id = "";
                MeteringEvent.prototype.tool = "";
                MeteringEvent.prototype.toolset = "";
                MeteringEvent.prototype.access = 0;
                MeteringEvent.prototype.outcome = 0;
                MeteringEvent.prototype.status_code = 0;
                MeteringEvent.prototype.latency_us = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
                MeteringEvent.prototype.backend_latency_us = null;
                MeteringEvent.prototype.request_bytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
                MeteringEvent.prototype.response_bytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
                MeteringEvent.prototype.tokens_saved_bytes = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
                MeteringEvent.prototype.cache_hit = false;
                MeteringEvent.prototype.counted = false;
                MeteringEvent.prototype.policy_revision = "";
                MeteringEvent.prototype.decision_id = "";
                MeteringEvent.prototype.gateway = "";

                let $oneOfFields;

                // Virtual OneOf for proto3 optional field
                $Object.defineProperty(MeteringEvent.prototype, "_backend_latency_us", {
                    get: $util.oneOfGetter($oneOfFields = ["backend_latency_us"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                MeteringEvent.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.event_id != null && $Object.hasOwnProperty.call(message, "event_id") && message.event_id !== "")
                        writer.uint32(10).string(message.event_id);
                    if (message.occurred_at != null && $Object.hasOwnProperty.call(message, "occurred_at"))
                        $root.google.protobuf.Timestamp.encode(message.occurred_at, writer.uint32(18).fork(), _depth + 1).ldelim();
                    if (message.sequence != null && $Object.hasOwnProperty.call(message, "sequence") && (typeof message.sequence === "object" ? message.sequence.low || message.sequence.high : message.sequence !== 0))
                        writer.uint32(24).uint64(message.sequence);
                    if (message.request_id != null && $Object.hasOwnProperty.call(message, "request_id") && message.request_id !== "")
                        writer.uint32(34).string(message.request_id);
                    if (message.tenant_id != null && $Object.hasOwnProperty.call(message, "tenant_id") && message.tenant_id !== "")
                        writer.uint32(42).string(message.tenant_id);
                    if (message.consumer_id != null && $Object.hasOwnProperty.call(message, "consumer_id") && message.consumer_id !== "")
                        writer.uint32(50).string(message.consumer_id);
                    if (message.subscription_id != null && $Object.hasOwnProperty.call(message, "subscription_id") && message.subscription_id !== "")
                        writer.uint32(58).string(message.subscription_id);
                    if (message.api_id != null && $Object.hasOwnProperty.call(message, "api_id") && message.api_id !== "")
                        writer.uint32(66).string(message.api_id);
                    if (message.tool != null && $Object.hasOwnProperty.call(message, "tool") && message.tool !== "")
                        writer.uint32(74).string(message.tool);
                    if (message.toolset != null && $Object.hasOwnProperty.call(message, "toolset") && message.toolset !== "")
                        writer.uint32(82).string(message.toolset);
                    if (message.access != null && $Object.hasOwnProperty.call(message, "access") && message.access !== 0)
                        writer.uint32(88).int32(message.access);
                    if (message.outcome != null && $Object.hasOwnProperty.call(message, "outcome") && message.outcome !== 0)
                        writer.uint32(96).int32(message.outcome);
                    if (message.status_code != null && $Object.hasOwnProperty.call(message, "status_code") && message.status_code !== 0)
                        writer.uint32(104).uint32(message.status_code);
                    if (message.latency_us != null && $Object.hasOwnProperty.call(message, "latency_us") && (typeof message.latency_us === "object" ? message.latency_us.low || message.latency_us.high : message.latency_us !== 0))
                        writer.uint32(112).uint64(message.latency_us);
                    if (message.backend_latency_us != null && $Object.hasOwnProperty.call(message, "backend_latency_us"))
                        writer.uint32(120).uint64(message.backend_latency_us);
                    if (message.request_bytes != null && $Object.hasOwnProperty.call(message, "request_bytes") && (typeof message.request_bytes === "object" ? message.request_bytes.low || message.request_bytes.high : message.request_bytes !== 0))
                        writer.uint32(128).uint64(message.request_bytes);
                    if (message.response_bytes != null && $Object.hasOwnProperty.call(message, "response_bytes") && (typeof message.response_bytes === "object" ? message.response_bytes.low || message.response_bytes.high : message.response_bytes !== 0))
                        writer.uint32(136).uint64(message.response_bytes);
                    if (message.tokens_saved_bytes != null && $Object.hasOwnProperty.call(message, "tokens_saved_bytes") && (typeof message.tokens_saved_bytes === "object" ? message.tokens_saved_bytes.low || message.tokens_saved_bytes.high : message.tokens_saved_bytes !== 0))
                        writer.uint32(144).uint64(message.tokens_saved_bytes);
                    if (message.cache_hit != null && $Object.hasOwnProperty.call(message, "cache_hit") && message.cache_hit !== false)
                        writer.uint32(152).bool(message.cache_hit);
                    if (message.counted != null && $Object.hasOwnProperty.call(message, "counted") && message.counted !== false)
                        writer.uint32(160).bool(message.counted);
                    if (message.policy_revision != null && $Object.hasOwnProperty.call(message, "policy_revision") && message.policy_revision !== "")
                        writer.uint32(170).string(message.policy_revision);
                    if (message.decision_id != null && $Object.hasOwnProperty.call(message, "decision_id") && message.decision_id !== "")
                        writer.uint32(178).string(message.decision_id);
                    if (message.gateway != null && $Object.hasOwnProperty.call(message, "gateway") && message.gateway !== "")
                        writer.uint32(186).string(message.gateway);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                MeteringEvent.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.toolgate.metering.v1.MeteringEvent();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.event_id = value;
                                else
                                    delete message.event_id;
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                message.occurred_at = $root.google.protobuf.Timestamp.decode(reader, reader.size(), $undefined, _depth + 1, message.occurred_at);
                                continue;
                            }
                        case 3: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                    message.sequence = value;
                                else
                                    delete message.sequence;
                                continue;
                            }
                        case 4: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.request_id = value;
                                else
                                    delete message.request_id;
                                continue;
                            }
                        case 5: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.tenant_id = value;
                                else
                                    delete message.tenant_id;
                                continue;
                            }
                        case 6: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.consumer_id = value;
                                else
                                    delete message.consumer_id;
                                continue;
                            }
                        case 7: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.subscription_id = value;
                                else
                                    delete message.subscription_id;
                                continue;
                            }
                        case 8: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.api_id = value;
                                else
                                    delete message.api_id;
                                continue;
                            }
                        case 9: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.tool = value;
                                else
                                    delete message.tool;
                                continue;
                            }
                        case 10: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.toolset = value;
                                else
                                    delete message.toolset;
                                continue;
                            }
                        case 11: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.access = value;
                                else
                                    delete message.access;
                                continue;
                            }
                        case 12: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.outcome = value;
                                else
                                    delete message.outcome;
                                continue;
                            }
                        case 13: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.uint32())
                                    message.status_code = value;
                                else
                                    delete message.status_code;
                                continue;
                            }
                        case 14: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                    message.latency_us = value;
                                else
                                    delete message.latency_us;
                                continue;
                            }
                        case 15: {
                                if (wireType !== 0)
                                    break;
                                message.backend_latency_us = reader.uint64();
                                message._backend_latency_us = "backend_latency_us";
                                continue;
                            }
                        case 16: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                    message.request_bytes = value;
                                else
                                    delete message.request_bytes;
                                continue;
                            }
                        case 17: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                    message.response_bytes = value;
                                else
                                    delete message.response_bytes;
                                continue;
                            }
                        case 18: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                                    message.tokens_saved_bytes = value;
                                else
                                    delete message.tokens_saved_bytes;
                                continue;
                            }
                        case 19: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.bool())
                                    message.cache_hit = value;
                                else
                                    delete message.cache_hit;
                                continue;
                            }
                        case 20: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.bool())
                                    message.counted = value;
                                else
                                    delete message.counted;
                                continue;
                            }
                        case 21: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.policy_revision = value;
                                else
                                    delete message.policy_revision;
                                continue;
                            }
                        case 22: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.decision_id = value;
                                else
                                    delete message.decision_id;
                                continue;
                            }
                        case 23: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.gateway = value;
                                else
                                    delete message.gateway;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                return MeteringEvent;
            })();

            return v1;
        })();

        return metering;
    })();

    return toolgate;
})();

export const google = $root.google = (() => {

    const google = {};

    google.protobuf = (function() {

        const protobuf = {};

        protobuf.Timestamp = (function() {

            const Timestamp = function (properties) {
                if (properties)
                    for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                        if (properties[keys[i]] != null && keys[i] !== "__proto__")
                            this[keys[i]] = properties[keys[i]];
            };

            Timestamp.prototype.seconds = $util.Long ? $util.Long.fromBits(0,0,false) : 0;
            Timestamp.prototype.nanos = 0;

            Timestamp.encode = function (message, writer, _depth) {
                if (!writer)
                    writer = $Writer.create();
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $util.recursionLimit)
                    throw $Error("max depth exceeded");
                if (message.seconds != null && $Object.hasOwnProperty.call(message, "seconds") && (typeof message.seconds === "object" ? message.seconds.low || message.seconds.high : message.seconds !== 0))
                    writer.uint32(8).int64(message.seconds);
                if (message.nanos != null && $Object.hasOwnProperty.call(message, "nanos") && message.nanos !== 0)
                    writer.uint32(16).int32(message.nanos);
                if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                    for (let i = 0; i < message.$unknowns.length; ++i)
                        writer.raw(message.$unknowns[i]);
                return writer;
            };

            Timestamp.decode = function (reader, length, _end, _depth, _target) {
                if (!(reader instanceof $Reader))
                    reader = $Reader.create(reader);
                if (_depth === $undefined)
                    _depth = 0;
                if (_depth > $Reader.recursionLimit)
                    throw $Error("max depth exceeded");
                let end, message, value;
                if (length === $undefined)
                    end = reader.len;
                else {
                    end = reader.pos + length;
                    if (end > reader.len)
                        throw $RangeError("index out of range");
                    length = reader.len;
                    reader.len = end;
                }
                message = _target || new $root.google.protobuf.Timestamp();
                while (reader.pos < end) {
                    let start = reader.pos;
                    let tag = reader.tag();
                    if (tag === _end) {
                        _end = $undefined;
                        break;
                    }
                    let wireType = tag & 7;
                    switch (tag >>>= 3) {
                    case 1: {
                            if (wireType !== 0)
                                break;
                            if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                message.seconds = value;
                            else
                                delete message.seconds;
                            continue;
                        }
                    case 2: {
                            if (wireType !== 0)
                                break;
                            if (value = reader.int32())
                                message.nanos = value;
                            else
                                delete message.nanos;
                            continue;
                        }
                    }
                    reader.skipType(wireType, _depth, tag);
                    if (!reader.discardUnknown) {
                        $util.makeProp(message, "$unknowns", false);
                        (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                    }
                }
                if (length !== $undefined) {
                    if (reader.pos !== end)
                        throw $RangeError("index out of range");
                    reader.len = length;
                }
                if (_end !== $undefined)
                    throw $Error("missing end group");
                return message;
            };

            return Timestamp;
        })();

        return protobuf;
    })();

    return google;
})();

export {
  $root as default
};

export const MeteringEvent: {
  decode(bytes: Uint8Array): object;
  encode(message: object): { finish(): Uint8Array };
} = toolgate.metering.v1.MeteringEvent;
